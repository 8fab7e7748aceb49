/* Which instruction sets the processor and the operating system support. */

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4]) { __cpuidex((int *)out, (int)leaf, (int)subleaf); }
static uint64_t enabled_state(void) { return _xgetbv(0); }
#else
#include <cpuid.h>
static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4]) {
    if (!__get_cpuid_count(leaf, subleaf, &out[0], &out[1], &out[2], &out[3])) memset(out, 0, 4 * sizeof out[0]);
}
/* The register state that the operating system saves: XCR0. */
static uint64_t enabled_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}
#endif

enum { EAX, EBX, ECX, EDX };

static int has_bit(uint32_t word, int bit) { return (int)(word >> bit & 1); }

static int cpu_supports(const char *name) {
    uint32_t basic[4], extended[4], more[4];
    cpuid(1, 0, basic);
    cpuid(7, 0, extended);
    cpuid(7, 1, more);
    uint64_t state = has_bit(basic[ECX], 27) ? enabled_state() : 0; /* OSXSAVE */
    int has_avx2 = (state & 6) == 6 && has_bit(basic[ECX], 12) && has_bit(extended[EBX], 5); /* FMA, AVX2 */
    int has_avx512 = has_avx2 && (state & 0xe6) == 0xe6 && has_bit(extended[EBX], 16) && has_bit(extended[EBX], 17) &&
                     has_bit(extended[EBX], 30) && has_bit(extended[EBX], 31); /* F, DQ, BW, VL */
    if (strcmp(name, "avx2") == 0) return has_avx2;
    if (strcmp(name, "avxvnni") == 0) return has_avx2 && has_bit(more[EAX], 4);
    if (strcmp(name, "avx512vnni") == 0) return has_avx512 && has_bit(extended[ECX], 11);
    return strncmp(name, "scalar", 6) == 0;
}

#elif defined(__aarch64__) || defined(_M_ARM64)
#if defined(__linux__)
#include <sys/auxv.h>
static int has_dot_products(void) { return (int)(getauxval(AT_HWCAP) >> 20 & 1); }
static int has_matrix_products(void) { return (int)(getauxval(AT_HWCAP2) >> 13 & 1); }
#elif defined(__APPLE__)
#include <sys/sysctl.h>
static int has_feature(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value;
}
static int has_dot_products(void) { return has_feature("hw.optional.arm.FEAT_DotProd"); }
static int has_matrix_products(void) { return has_feature("hw.optional.arm.FEAT_I8MM"); }
#elif defined(_WIN32)
#include <windows.h>
static int has_dot_products(void) { return IsProcessorFeaturePresent(43); } /* PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE */
static int has_matrix_products(void) { return 0; }
#else
static int has_dot_products(void) { return 0; }
static int has_matrix_products(void) { return 0; }
#endif

static int cpu_supports(const char *name) {
    if (strcmp(name, "neon") == 0) return has_dot_products();
    if (strcmp(name, "neon-i8mm") == 0) return has_dot_products() && has_matrix_products();
    return strncmp(name, "scalar", 6) == 0;
}

#else
static int cpu_supports(const char *name) { return strncmp(name, "scalar", 6) == 0; }
#endif
