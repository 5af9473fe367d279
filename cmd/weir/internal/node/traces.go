package node

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/config"
)

// Variables of OpenTelemetry with the address of the collector. The first is for traces only and is
// used unchanged. The exporter reads the others: headers, certificates, sampler.
const (
	envTraces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envOTLP   = "OTEL_EXPORTER_OTLP_ENDPOINT"
)

// Traces returns a provider of traces, nil if the environment names no collector, and a function
// that sends the remaining spans. Its error is a *ConfigError.
func Traces(ctx context.Context, getenv func(string) string, cfg *config.Config, log zerolog.Logger) (trace.TracerProvider, func(), error) {
	url := getenv(envTraces)
	if base := getenv(envOTLP); url == "" && base != "" {
		url = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if url == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url))
	if err != nil {
		return nil, nil, &ConfigError{"cannot set up traces", err, "correct " + envTraces + " or " + envOTLP + ", or unset them"}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("traces_failed") }))
	name := getenv("OTEL_SERVICE_NAME")
	if name == "" {
		name = "weir"
	}
	about, err := resource.Merge(resource.Default(), resource.NewSchemaless(
		attribute.String("service.name", name), attribute.String("service.version", buildinfo.Read().Version),
		attribute.String("service.instance.id", cfg.Instance),
	))
	if err != nil {
		return nil, nil, &ConfigError{"cannot set up traces", err, "correct OTEL_RESOURCE_ATTRIBUTES"}
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn().Err(err).Msg("traces_failed")
		}
	}, nil
}
