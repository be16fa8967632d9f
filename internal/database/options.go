package database

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"
)

// DefaultSessionAge is how old Google's own clients let a session become.
const DefaultSessionAge = 7 * 24 * time.Hour

// DefaultConnectTimeout is how long Open waits for an endpoint that neither
// answers nor refuses.
const DefaultConnectTimeout = 10 * time.Second

// MaxChannels bounds Options.Channels: the service's own client has no use for
// more, and each is a TCP connection with a reading goroutine.
const MaxChannels = 256

// Options say where a database is and as whom to open it.
type Options struct {
	Name Name

	// Endpoint is the service endpoint as host:port, for a regional or private
	// one. Empty is spanner.googleapis.com:443.
	Endpoint string
	// EmulatorEndpoint is the host:port of an emulator. It is spoken to in
	// plain text and without credentials; KeyFile and Impersonate must be empty.
	EmulatorEndpoint string

	// KeyFile is the path of a service account's JSON key. Empty means
	// Application Default Credentials.
	KeyFile string
	// Impersonate is the e-mail of a service account to act as.
	Impersonate string
	// Role is the database role (fine-grained access control) of the session.
	Role string

	// Channels is the number of gRPC channels; 0 means 1. See ChannelsFor.
	Channels int
	// UserAgent names the program and its version.
	UserAgent string
	// ConnectTimeout bounds Open; 0 is DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// SessionAge is how old the session becomes before another takes its place;
	// 0 is DefaultSessionAge.
	SessionAge time.Duration
	// Logger gets a debug line about the connection; nil discards it.
	Logger *slog.Logger
}

// Validate reports the first option that is out of its bounds or contradicts
// another. It opens nothing.
func (o Options) Validate() error {
	if err := o.Name.Validate(); err != nil {
		return err
	}
	if o.Channels < 0 || o.Channels > MaxChannels {
		return fmt.Errorf("%d channels are out of bounds: 1 to %d", o.Channels, MaxChannels)
	}
	if o.EmulatorEndpoint != "" {
		switch {
		case o.KeyFile != "":
			return errors.New("a service-account key file and an emulator endpoint exclude each other")
		case o.Impersonate != "":
			return errors.New("impersonation and an emulator endpoint exclude each other")
		case o.Endpoint != "":
			return errors.New("a service endpoint and an emulator endpoint exclude each other")
		}
		return checkHostPort(EmulatorAddress(o.EmulatorEndpoint))
	}
	if o.Endpoint != "" {
		return checkHostPort(o.Endpoint)
	}
	return nil
}

var endpointScheme = regexp.MustCompile(`^(http://|https://|passthrough:///)`)

// EmulatorAddress returns the host:port in an emulator endpoint, which may be
// written as a URL: other Spanner clients accept that in SPANNER_EMULATOR_HOST.
func EmulatorAddress(endpoint string) string {
	return strings.TrimSuffix(endpointScheme.ReplaceAllString(endpoint, ""), "/")
}

func checkHostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("endpoint %q is not of the form host:port", s)
	}
	return nil
}

// ChannelsFor chooses the number of channels for so many concurrent streams.
// One channel decodes on one goroutine and carries at most about 100 streams;
// two streams a channel keep every processor busy without a connection each.
func ChannelsFor(streams int) int { return min(max((streams+1)/2, 1), 32) }
