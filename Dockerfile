# syntax=docker/dockerfile:1
# treecrf as a server on the CPU:
#     docker build -t treecrf .
#     docker run --rm -p 127.0.0.1:8000:8000 treecrf --model en
FROM python:3.12-slim AS build

# the charts of the CPU are C
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

RUN python -m venv /opt/treecrf
ENV PATH=/opt/treecrf/bin:$PATH

WORKDIR /build
COPY constraints.txt ./
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src ./src
COPY packages ./packages
RUN pip install --no-cache-dir --constraint constraints.txt '.[server]' ./packages/treecrf-zh


FROM python:3.12-slim

COPY --from=build /opt/treecrf /opt/treecrf
ENV PATH=/opt/treecrf/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

RUN useradd --system --no-create-home --shell /usr/sbin/nologin treecrf
USER treecrf
WORKDIR /tmp

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]

# a token comes in the environment variable TREECRF_TOKEN, or in a file with --token-file
ENTRYPOINT ["treecrf", "serve", "--host", "0.0.0.0"]
