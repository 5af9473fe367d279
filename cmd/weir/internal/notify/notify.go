package notify

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors/sink"
	"github.com/weirhq/weir/stream"
)

// Topic is a topic of alerts.
type Topic struct {
	Name   func(c *config.Config) string
	Group  string // default consumer group
	What   string // such as "alert of a budget"
	URL    string // of the example
	Decode Decode
	// Failure returns the error of a command that cannot read the topic.
	Failure func(error) error
}

// notifying is a run of a command.
type notifying struct {
	Topic
	a          *cli.App
	url        string
	secretFile string
	group      string
	maxAge     time.Duration
}

// Command returns the command `notify URL` of a parent, such as "pacing".
func Command(a *cli.App, parent string, t Topic) *cobra.Command {
	r := notifying{Topic: t, a: a}
	c := &cobra.Command{
		Use:   "notify URL",
		Short: "Send each " + t.What + " to a webhook, until it is stopped",
		Long: "Send each " + t.What + " to a webhook as a POST request with a JSON document, until\n" +
			"the command is stopped. A request that fails is repeated until the server answers with 2xx, or\n" +
			"refuses it with another code below 500 (but for 408, 425 and 429), which is in the log. The header\n" +
			"" + HeaderID + " is the same for each repetition. With --secret-file, the header " + HeaderSignature + "\n" +
			"is \"sha256=\" and the hexadecimal HMAC-SHA256 of the body with the secret.\n\n" +
			"A consumer group has the position, so that a restart continues, and several processes share the\n" +
			"work. Another --group gets all alerts again, up to --max-age.",
		Example: "  weir " + parent + " notify " + t.URL + " --secret-file webhook.secret",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.url = args[0]
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.secretFile, "secret-file", "", "file with the secret that signs requests (default: they are not signed)")
	f.StringVar(&r.group, "group", t.Group, "consumer group")
	f.DurationVar(&r.maxAge, "max-age", 24*time.Hour, "age from which on an alert is not sent")
	return c
}

func (r *notifying) run(ctx context.Context) error {
	w, err := r.hook()
	if err != nil {
		return err
	}
	cfg, k, err := connect.Cluster(ctx, r.a)
	if err != nil {
		return err
	}
	log, err := obs.NewLogger(r.a.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	w.Log = &log
	w.Sent = func(id string) { log.Info().Str("id", id).Msg("alert_sent") }
	c, err := sink.New(sink.Config{Kafka: k, Instance: cfg.Instance, Log: &log}, stream.Sink{
		Group: r.group, Topic: r.Name(cfg), Do: w.do, Concurrency: 8,
		SkipTrimmed: true, // they are older than --max-age can be
	})
	if err != nil {
		return cli.UsageError("--group: "+err.Error(), "use letters, digits, dots and dashes")
	}
	r.a.Notef("sending the alerts of %s to %s as group %s", r.Name(cfg), r.url, r.group)
	if err := c.Run(ctx); err != nil {
		return r.Failure(err)
	}
	return nil
}

// hook checks the arguments.
func (r *notifying) hook() (*webhook, error) {
	u, err := url.Parse(r.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, cli.UsageError(fmt.Sprintf("%q is not the URL of a webhook", r.url),
			"write one such as "+r.URL)
	}
	if r.maxAge <= 0 {
		return nil, cli.UsageError(fmt.Sprintf("--max-age %s is out of range", r.maxAge), "use a time above 0, such as 24h")
	}
	w := &webhook{Decode: r.Decode, URL: r.url, MaxAge: r.maxAge}
	if r.secretFile == "" {
		return w, nil
	}
	text, err := os.ReadFile(r.secretFile)
	if err != nil {
		return nil, cli.Fail(cli.ExitIO, "cannot read the secret", err, "check the path of --secret-file")
	}
	const least = 16
	if w.Secret = bytes.TrimSpace(text); len(w.Secret) < least {
		return nil, cli.UsageError(fmt.Sprintf("--secret-file: the secret has %d bytes and could be guessed", len(w.Secret)),
			"write at least 16 bytes of text to the file, for example with `openssl rand -hex 32`")
	}
	return w, nil
}
