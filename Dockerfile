# gleaner in a small image of its own. Crawls live in the volume /data; docs/operations.md tells how
# to run it.
#
#     docker build -t gleaner .
#     docker run --rm -v crawls:/data gleaner crawl URL --data-dir /data/first
#
# The base images have tags and no digests, so that each build has the security updates of its day.
# To build on certain images, give them by their digests:
#
#     docker build -t gleaner --build-context \
#         debian:bookworm-slim=docker-image://debian@sha256:DIGEST .

FROM rust:1.91-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make python3 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY benches benches
COPY tests tests
COPY src src
COPY config config
COPY packaging packaging
RUN cargo build --profile dist --locked
# What the crates say about themselves, whose licences ask for it, and the list of them (SBOM).
RUN packaging/notices target/dist/notices

FROM debian:bookworm-slim
# Certificates are checked against the system's.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
# A fixed number, so that the owner of a volume stays the same from one build to the next.
RUN useradd --system --uid 10001 --home-dir /data gleaner \
    && install --directory --owner gleaner --mode 0750 /data
COPY --from=build /build/target/dist/gleaner /usr/local/bin/
COPY config /usr/share/gleaner/config
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/gleaner/
COPY --from=build /build/target/dist/notices /usr/share/doc/gleaner/
# By its number, so that a system which takes no root can tell without looking inside.
USER 10001
WORKDIR /data
VOLUME /data
ENTRYPOINT ["gleaner"]
CMD ["--help"]
