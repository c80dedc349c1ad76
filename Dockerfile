# Ragworthy on Debian's Python 3.11, for machines without one: docker run --rm -v "$PWD:/work" ragworthy gate
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv git openssh-client \
 && rm -rf /var/lib/apt/lists/*
# git names the commit that is judged, openssh-client signs and verifies
COPY pyproject.toml PACKAGE.md LICENSE requirements-runtime.txt /src/
COPY src /src/src
RUN python3 -m venv /opt/ragworthy \
 && /opt/ragworthy/bin/pip install --no-cache-dir --disable-pip-version-check \
      -c /src/requirements-runtime.txt "/src[retrieval,http,parquet,xlsx]" \
 && rm -rf /src
RUN useradd --create-home --uid 10001 ragworthy \
 && git config --system --add safe.directory /work
USER ragworthy
WORKDIR /work
ENTRYPOINT ["/opt/ragworthy/bin/ragworthy"]
CMD ["--help"]
