package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/impersonate"
	apiv1 "cloud.google.com/go/spanner/apiv1"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// cloudPlatform is the scope a principal needs to impersonate another.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// resolveCredentials returns the credentials that o asks for, nil for plain
// Application Default Credentials, which the transport finds by itself.
func resolveCredentials(o Options) (*auth.Credentials, error) {
	var base *auth.Credentials
	if o.KeyFile != "" {
		var err error
		if base, err = keyFileCredentials(o); err != nil {
			return nil, err
		}
	}
	if o.Impersonate == "" {
		return base, nil
	}
	creds, err := impersonate.NewCredentials(&impersonate.CredentialsOptions{
		TargetPrincipal: o.Impersonate,
		Scopes:          apiv1.DefaultAuthScopes(),
		Credentials:     base,
	})
	if err != nil {
		return nil, credentialsFault("impersonate", o.Impersonate, err)
	}
	return creds, nil
}

// keyFileCredentials reads a service account's key. Only that type of JSON is
// taken: other credential files can name hosts and programs to fetch tokens
// from. No error repeats anything of the file's content, the parsers' included.
func keyFileCredentials(o Options) (*auth.Credentials, error) {
	const op = "read service-account key file"
	raw, err := os.ReadFile(o.KeyFile)
	if err != nil {
		reason := err.Error()
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			reason = pathErr.Err.Error()
		}
		return nil, &fault.Error{Code: codes.InvalidArgument, Op: op, Object: o.KeyFile, Reason: reason, Err: err}
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &kind) != nil || kind.Type != string(credentials.ServiceAccount) {
		return nil, fault.New(codes.InvalidArgument, op, o.KeyFile, `it is not JSON of "type": "service_account"`).
			WithHint("other credentials are found through GOOGLE_APPLICATION_CREDENTIALS and gcloud auth application-default login")
	}
	scopes := apiv1.DefaultAuthScopes()
	if o.Impersonate != "" {
		scopes = []string{cloudPlatform}
	}
	creds, err := credentials.NewCredentialsFromJSON(credentials.ServiceAccount, raw,
		&credentials.DetectOptions{Scopes: scopes, UseSelfSignedJWT: true})
	if err != nil {
		return nil, fault.New(codes.InvalidArgument, op, o.KeyFile, "the key in it cannot be used").
			WithHint("download a new JSON key for the service account")
	}
	return creds, nil
}

func credentialsFault(op, object string, err error) error {
	return &fault.Error{
		Code: codes.Unauthenticated, Op: op, Object: object, Reason: fmt.Sprint(err), Err: err,
		Hint: "run gcloud auth application-default login, or give --service-account-key-file or --emulator-endpoint",
	}
}
