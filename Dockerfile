# syntax=docker/dockerfile:1
# treecrf as a server on the CPU, with the embedded models:
#     docker build -t treecrf .
#     docker run --rm -p 127.0.0.1:8000:8000 treecrf --model en
# MODELS adds packages of models; some of them have a non-commercial license (packages/*/LICENSE.txt):
#     docker build --build-arg MODELS="en-large zh" -t treecrf .
# the digest of python:3.12-slim; docker pull python:3.12-slim prints a newer one
ARG BASE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
FROM $BASE AS build

# inference on the CPU is C
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

RUN python -m venv /opt/treecrf
ENV PATH=/opt/treecrf/bin:$PATH

WORKDIR /build
COPY constraints.txt pyproject.toml setup.py README.md LICENSE ./
COPY .github/check_wheel.py ./.github/
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt '.[server]' \
    && python .github/check_wheel.py

ARG MODELS=""
COPY packages ./packages
RUN for model in $MODELS; do pip install --no-cache-dir --constraint constraints.txt ./packages/treecrf-$model || exit 1; done


FROM $BASE

COPY --from=build /opt/treecrf /opt/treecrf
ENV PATH=/opt/treecrf/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# a user without a home, a shell or rights; by number, so that Kubernetes can check runAsNonRoot
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin treecrf
USER 10001
WORKDIR /tmp

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]

# a token comes in the environment variable TREECRF_TOKEN, or in a file with --token-file
ENTRYPOINT ["treecrf", "serve", "--host", "0.0.0.0"]
