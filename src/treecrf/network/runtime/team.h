/* Work on one group of rows that all threads of a job do together, stage by stage.

   A stage has pieces, which threads claim one by one, and starts when all pieces of the stage before are completed. A
   thread that is held up delays the others by its own piece only. Thread 0, on which the job was called, owns the memory
   and can do all pieces alone: the others may start late or never. */

#define WAIT_PAUSES 2000 /* before a waiting thread lets others run: a few times as long as a piece takes */
#define JOIN_YIELDS 1000 /* before a thread that waits for thread 0 gives up */
#define STAGE_COUNTERS (ALIGNMENT / (int64_t)sizeof(int64_t)) /* claimed and completed pieces, on one cache line */

enum { NEXT_ITEM, SHARED_BLOCK, USERS }; /* the counters of a job: see JOB_COUNTERS */
enum { CLOSED = -1 };

typedef struct {
    int64_t threads;
    int64_t *counters; /* of the current stage; null if this thread works alone */
} Team;

/* The next piece of a stage; `piece` is the one before it. */
INLINE int64_t claim_piece(const Team *team, int64_t piece) {
    return team->counters == NULL ? piece + 1 : next_block(team->counters, 1);
}

/* Completes a claimed piece. */
INLINE void complete_piece(const Team *team) {
    if (team->counters != NULL) add_to_counter(team->counters + 1, 1);
}

/* Waits until all pieces of a stage are completed, and moves on to the next stage. */
static void end_stage(Team *team, int64_t pieces) {
    if (team->counters == NULL) return;
    for (int64_t tries = 0; load_counter(team->counters + 1) < pieces; tries++) {
        if (tries < WAIT_PAUSES) pause_thread();
        else yield_thread();
    }
    team->counters += STAGE_COUNTERS;
}

/* Makes the shared memory known to the other threads; NULL if there is none. */
static void open_shared(int64_t *counters, char *block) {
    add_to_counter(counters + SHARED_BLOCK, block == NULL ? CLOSED : (int64_t)(uintptr_t)block);
}

/* Waits until no other thread uses the shared memory. */
static void close_shared(int64_t *counters, char *block) {
    add_to_counter(counters + SHARED_BLOCK, CLOSED - (int64_t)(uintptr_t)block);
    for (int64_t tries = 0; load_counter(counters + USERS) > 0; tries++) {
        if (tries < WAIT_PAUSES) pause_thread();
        else yield_thread();
    }
}

/* The shared memory, or NULL if it is closed already or does not come; leave_shared must follow. */
static char *enter_shared(int64_t *counters) {
    int64_t address;
    add_to_counter(counters + USERS, 1);
    for (int64_t tries = 0; (address = load_counter(counters + SHARED_BLOCK)) == 0 && tries < JOIN_YIELDS; tries++)
        yield_thread();
    return address == CLOSED ? NULL : (char *)(uintptr_t)address;
}

static void leave_shared(int64_t *counters) { add_to_counter(counters + USERS, -1); }
