# Pin by digest for a reproducible image: --build-arg BASE=debian:trixie-slim@sha256:...
ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
WORKDIR /src
COPY deploy/install-packages.sh deploy/
RUN deploy/install-packages.sh build test
COPY . .
RUN cmake --preset release -DATTUNE_BUILD_TESTS=OFF \
 && cmake --build --preset release --target attune-server attune \
 && cmake --install build/release --prefix /out --strip

# The runtime stage copies from here, so an image whose tests fail is not made.
FROM build AS test
RUN cmake --preset release -DATTUNE_BUILD_TESTS=ON \
 && cmake --build --preset release \
 && ctest --preset release --parallel "$(nproc)" --label-regex 'unit|fuzz_replay'

FROM ${BASE} AS runtime
LABEL org.opencontainers.image.title="attune" \
      org.opencontainers.image.description="Text to vectors, with attention maps, on CPUs"
COPY deploy/install-packages.sh /tmp/
RUN /tmp/install-packages.sh runtime \
 && rm -rf /tmp/install-packages.sh /var/lib/apt/lists/*
COPY --from=test /out/bin/ /usr/local/bin/
USER 65532:65532
# Model folders are mounted below /models, read-only. A container has no loopback that others reach,
# so it listens on every address; who may connect is for the one who publishes its ports to say, and
# ATTUNE_TLS_CERT and ATTUNE_TLS_KEY encrypt them.
ENV ATTUNE_MODEL=/models/all-MiniLM-L6-v2 \
    ATTUNE_INSECURE=true \
    ATTUNE_GRPC_ADDRESS=0.0.0.0:50051 \
    ATTUNE_HTTP_ADDRESS=0.0.0.0:8080 \
    ATTUNE_OPS_ADDRESS=0.0.0.0:9464
EXPOSE 50051 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["attune", "health"]
ENTRYPOINT ["attune-server"]
