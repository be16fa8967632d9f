package emulator

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// sessions are the open sessions of a database. Any connection may use any of
// them.
type sessions struct {
	mu   sync.Mutex
	open map[string]*spannerpb.Session
	// used is when a session was last named by a request.
	used map[string]time.Time
	// created counts all that ever were.
	created int
}

// Idle times after which a session is gone.
const (
	sessionIdle     = time.Hour
	multiplexedIdle = 28 * 24 * time.Hour
)

func (s *sessions) init() {
	s.open = make(map[string]*spannerpb.Session)
	s.used = make(map[string]time.Time)
}

func (s *sessions) create(db string, template *spannerpb.Session, now time.Time) *spannerpb.Session {
	out := &spannerpb.Session{
		Name:                   db + "/sessions/" + rand.Text(),
		Labels:                 template.GetLabels(),
		CreateTime:             timestamppb.New(now),
		ApproximateLastUseTime: timestamppb.New(now),
		CreatorRole:            template.GetCreatorRole(),
		Multiplexed:            template.GetMultiplexed(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[out.Name], s.used[out.Name] = out, now
	if s.created++; s.created%sweepEvery == 0 {
		s.sweep(now)
	}
	return out
}

// sweepEvery is how many sessions are created between sweeps of expired ones.
const sweepEvery = 256

// sweep forgets the sessions that have expired.
func (s *sessions) sweep(now time.Time) {
	for name, session := range s.open {
		s.expire(session, name, now)
	}
}

// expire forgets a session that was idle for too long, and tells whether it was.
func (s *sessions) expire(session *spannerpb.Session, name string, now time.Time) bool {
	idle := sessionIdle
	if session.Multiplexed {
		idle = multiplexedIdle
	}
	if now.Sub(s.used[name]) <= idle {
		return false
	}
	delete(s.open, name)
	delete(s.used, name)
	return true
}

// touch finds a session and notes its use.
func (s *sessions) touch(name string, now time.Time) (*spannerpb.Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.open[name]
	if !ok || s.expire(session, name, now) {
		return nil, false
	}
	s.used[name] = now
	return session, true
}

// session finds the database and the session that a request names.
func (s *Server) session(name string) (*database, *spannerpb.Session, error) {
	if name == "" {
		return nil, nil, status.Error(codes.InvalidArgument, "Invalid session name: it is empty.")
	}
	dbName, id, ok := strings.Cut(name, "/sessions/")
	if !ok || id == "" || strings.Contains(id, "/") {
		return nil, nil, status.Errorf(codes.InvalidArgument, "Invalid session name: %q", name)
	}
	db, err := s.findDatabase(dbName)
	if err != nil {
		return nil, nil, err
	}
	session, ok := db.sessions.touch(name, s.opts.Now())
	if !ok {
		return nil, nil, resourceError("Session", "v1", name)
	}
	return db, session, nil
}

// CreateSession opens a session.
func (s *Server) CreateSession(_ context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	db, err := s.findDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	return db.sessions.create(req.GetDatabase(), req.GetSession(), s.opts.Now()), nil
}

const maxBatchSessions = 100

// BatchCreateSessions opens several plain sessions.
func (s *Server) BatchCreateSessions(_ context.Context, req *spannerpb.BatchCreateSessionsRequest) (*spannerpb.BatchCreateSessionsResponse, error) {
	db, err := s.findDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	if req.GetSessionCount() < 0 {
		return nil, status.Error(codes.InvalidArgument, "Session count must be positive.")
	}
	if req.GetSessionTemplate().GetMultiplexed() {
		return nil, status.Error(codes.InvalidArgument, "Multiplexed sessions cannot be created in a batch.")
	}
	resp := &spannerpb.BatchCreateSessionsResponse{}
	for range min(req.GetSessionCount(), maxBatchSessions) {
		resp.Session = append(resp.Session, db.sessions.create(req.GetDatabase(), req.GetSessionTemplate(), s.opts.Now()))
	}
	return resp, nil
}

// GetSession tells about a session.
func (s *Server) GetSession(_ context.Context, req *spannerpb.GetSessionRequest) (*spannerpb.Session, error) {
	_, session, err := s.session(req.GetName())
	return session, err
}

// ListSessions gives the plain sessions of a database.
func (s *Server) ListSessions(_ context.Context, req *spannerpb.ListSessionsRequest) (*spannerpb.ListSessionsResponse, error) {
	db, err := s.findDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	db.sessions.mu.Lock()
	defer db.sessions.mu.Unlock()
	db.sessions.sweep(s.opts.Now())
	var plain []string
	for name, session := range db.sessions.open {
		if !session.Multiplexed {
			plain = append(plain, name)
		}
	}
	names, next := page(plain, req.GetPageSize(), req.GetPageToken())
	resp := &spannerpb.ListSessionsResponse{NextPageToken: next}
	for _, n := range names {
		resp.Sessions = append(resp.Sessions, db.sessions.open[n])
	}
	return resp, nil
}

// DeleteSession closes a plain session; one that is gone is no error.
func (s *Server) DeleteSession(_ context.Context, req *spannerpb.DeleteSessionRequest) (*emptypb.Empty, error) {
	db, session, err := s.session(req.GetName())
	if status.Code(err) == codes.NotFound {
		return &emptypb.Empty{}, nil
	}
	if err != nil {
		return nil, err
	}
	if session.Multiplexed {
		return nil, status.Error(codes.InvalidArgument, "Cannot delete multiplexed session.")
	}
	db.sessions.mu.Lock()
	defer db.sessions.mu.Unlock()
	delete(db.sessions.open, req.GetName())
	delete(db.sessions.used, req.GetName())
	return &emptypb.Empty{}, nil
}
