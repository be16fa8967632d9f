package database_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/database"
)

// TestSessionIsRenewed makes new sessions as they become old, and keeps the old
// one while that fails.
func TestSessionIsRenewed(t *testing.T) {
	s := &server{numbered: true}
	conn, err := database.Open(t.Context(), database.Options{
		Name: testName, EmulatorEndpoint: serve(t, s), SessionAge: 70 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	session := func(n string) string { return testName.String() + "/sessions/" + n }
	await := func(want string) {
		t.Helper()
		for late := time.Now().Add(20 * time.Second); conn.Session() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("session is %s, want %s", conn.Session(), want)
			}
		}
	}
	if got := conn.Session(); got != session("1") {
		t.Fatalf("session is %s at first", got)
	}
	s.mu.Lock()
	s.sessionErrors = []error{status.Error(codes.PermissionDenied, "no"), status.Error(codes.NotFound, "Database not found")}
	s.mu.Unlock()
	await(session("4"))
	await(session("5"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, req := range s.sessions {
		if !req.GetSession().GetMultiplexed() {
			t.Errorf("session %v is not multiplexed", req)
		}
	}
}
