# The operator's image, for people who have Docker. `make image` builds the same
# image without Docker; a test keeps the two alike.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /loom-operator .

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="loom-operator" \
      org.opencontainers.image.source="https://github.com/beyond10x/loom-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /loom-operator /loom-operator
USER 65532:65532
ENTRYPOINT ["/loom-operator"]
