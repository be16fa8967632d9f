package database

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	apiv1 "cloud.google.com/go/spanner/apiv1"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"spanbulk/internal/fault"
)

// Conn is an open connection to one database with one multiplexed session. It
// is safe for concurrent use until Close.
//
// Spanner drops a session after 28 days. So a new one is made every 7 days, as
// Google's own clients do, while the old one serves what has begun with it. A
// session that is gone before is not replaced: the database was most likely
// dropped, and another of its name is not the one that was opened.
type Conn struct {
	options Options
	client  *apiv1.Client
	session atomic.Pointer[string]

	stop    context.CancelFunc
	renewed chan struct{} // closed when no session is made any more
}

// Open connects and creates the session, so that a wrong name, a missing
// permission and an endpoint that cannot be reached are known before any work
// begins. A refused connection to an emulator fails at once, an endpoint that
// does not answer after Options.ConnectTimeout.
func Open(ctx context.Context, o Options) (*Conn, error) {
	if err := o.Validate(); err != nil {
		return nil, &fault.Error{Code: codes.InvalidArgument, Op: "open", Object: "database", Reason: err.Error(), Err: err}
	}
	opts, err := clientOptions(o)
	if err != nil {
		return nil, err
	}
	client, err := apiv1.NewClient(ctx, opts...)
	if err != nil {
		return nil, credentialsFault("open", o.Name.String(), err)
	}
	c := &Conn{options: o, client: client, renewed: make(chan struct{})}
	session, err := c.createSession(ctx)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	c.session.Store(&session)
	c.debug("connected", "endpoint", c.Endpoint(), "session", session, "channels", max(o.Channels, 1))
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(c.renewed)
		c.renewSession(ctx)
	}()
	return c, nil
}

// Name returns the database's name.
func (c *Conn) Name() Name { return c.options.Name }

// Client returns the generated client. It belongs to the Conn: do not close it.
func (c *Conn) Client() *apiv1.Client { return c.client }

// Session returns the name of the multiplexed session that new requests are to
// name. What belongs to a session, as transactions and partitions do, goes on
// naming that one.
func (c *Conn) Session() string { return *c.session.Load() }

// Endpoint returns the host:port that is spoken to.
func (c *Conn) Endpoint() string { return endpointOf(c.options) }

// Close closes the channels. The session needs no deleting: the service
// refuses to delete multiplexed ones and drops them by itself.
func (c *Conn) Close() error {
	c.stop()
	<-c.renewed
	return c.client.Close()
}

func endpointOf(o Options) string {
	switch {
	case o.EmulatorEndpoint != "":
		return EmulatorAddress(o.EmulatorEndpoint)
	case o.Endpoint != "":
		return o.Endpoint
	default:
		return "spanner.googleapis.com:443"
	}
}

func clientOptions(o Options) ([]option.ClientOption, error) {
	opts := []option.ClientOption{
		option.WithTelemetryDisabled(),
		// Without a logger of ours, GOOGLE_SDK_GO_LOGGING_LEVEL=debug would
		// print requests and responses, values and all.
		option.WithLogger(slog.New(slog.DiscardHandler)),
		option.WithUserAgent(o.UserAgent),
		option.WithGRPCConnectionPool(max(o.Channels, 1)),
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 120 * time.Second})),
		option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(prefixUnary(o.Name.String()))),
		option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(prefixStream(o.Name.String()))),
	}
	if o.EmulatorEndpoint != "" {
		return append(opts,
			option.WithEndpoint("passthrough:///"+EmulatorAddress(o.EmulatorEndpoint)),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
			option.WithoutAuthentication(),
			internaloption.SkipDialSettingsValidation(),
		), nil
	}
	if o.Endpoint != "" {
		opts = append(opts, option.WithEndpoint(o.Endpoint))
	}
	creds, err := resolveCredentials(o)
	if err != nil {
		return nil, err
	}
	if creds != nil {
		opts = append(opts, option.WithAuthCredentials(creds))
	}
	return opts, nil
}

func (c *Conn) createSession(ctx context.Context) (string, error) {
	timeout := c.options.ConnectTimeout
	if timeout == 0 {
		timeout = DefaultConnectTimeout
	}
	attempt, cancel := context.WithTimeout(RouteToLeader(ctx), timeout)
	defer cancel()
	session, err := c.client.CreateSession(attempt, &spannerpb.CreateSessionRequest{
		Database: c.options.Name.String(),
		Session:  &spannerpb.Session{Multiplexed: true, CreatorRole: c.options.Role},
	}, gax.WithRetry(func() gax.Retryer { return &connectRetry{emulator: c.options.EmulatorEndpoint != ""} }))
	switch {
	case err == nil:
		return session.GetName(), nil
	case ctx.Err() != nil:
		return "", fault.Reading(ctx.Err(), "open", c.Name().String())
	default:
		return "", c.openFault(err, attempt.Err() != nil, timeout)
	}
}

// openFault explains why the first call failed: the endpoint, which the user
// may have mistyped, or what the service says of the database.
func (c *Conn) openFault(err error, timedOut bool, timeout time.Duration) error {
	code := fault.Code(err)
	if code != codes.Unavailable && code != codes.DeadlineExceeded {
		return fault.Reading(err, "open", c.Name().String())
	}
	e := &fault.Error{Code: codes.Unavailable, Op: "connect to", Object: c.Endpoint(), Err: err}
	if told, ok := errors.AsType[*fault.Error](fault.Reading(err, "", "")); ok {
		e.Reason = told.Reason
	}
	if timedOut && code == codes.DeadlineExceeded {
		e.Reason = "no answer in " + timeout.String()
	}
	e.Hint = "check the network, a proxy or firewall, and --endpoint"
	if c.options.EmulatorEndpoint != "" {
		e.Hint = "start it (spanbulk emulator), or check --emulator-endpoint and SPANNER_EMULATOR_HOST"
	}
	return e
}
