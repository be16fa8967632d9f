package input

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/output"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// File is one input.
type File struct {
	// Path is what people know it by; Stdin for standard input.
	Path string
	// Table is the table its records belong to, as the directory it is from
	// says; empty where nothing says so.
	Table string
	// Size is in bytes; negative if it is not known before, as with pipes.
	Size int64

	// Kind and Compression are what its directory says of it; empty: by name or
	// content.
	Kind        format.Kind
	Compression format.Compression

	checksum *checksum // nil if there is none to hold against, or that is done
}

// Name is the path, or what standard input is called.
func (f *File) Name() string {
	if f.Path == Stdin {
		return "stdin"
	}
	return f.Path
}

// checksum is what a manifest says of the bytes of a file.
type checksum struct {
	algorithm string // sha256, md5
	sum       []byte
}

// Find returns the inputs that the arguments name, in their order: paths, globs,
// directories of an export. Without arguments it is standard input. That each is
// there, and as long as its manifest says, is checked.
func Find(args []string) ([]*File, error) {
	if len(args) == 0 {
		args = []string{Stdin}
	}
	var files []*File
	for _, arg := range args {
		found, err := find(arg)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	seen := map[string]bool{}
	for _, f := range files {
		path := f.Path
		if absolute, err := filepath.Abs(path); err == nil && path != Stdin {
			path = absolute
		}
		if seen[path] {
			return nil, fault.New(codes.InvalidArgument, "read", f.Name(), "the input is named twice")
		}
		seen[path] = true
	}
	return files, nil
}

func find(arg string) ([]*File, error) {
	if arg == Stdin {
		return []*File{{Path: Stdin, Size: -1}}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return findDirectory(arg)
	case err == nil:
		return []*File{fileOf(arg, info)}, nil
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?["):
		return findGlob(arg)
	}
	return nil, openFault(arg, err)
}

func fileOf(path string, info fs.FileInfo) *File {
	f := &File{Path: path, Size: -1}
	if info.Mode().IsRegular() {
		f.Size = info.Size()
	}
	return f
}

func findGlob(pattern string) ([]*File, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fault.New(codes.InvalidArgument, "read", pattern, "the pattern cannot be read: "+err.Error())
	}
	var files []*File
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, openFault(path, err)
		}
		if !info.IsDir() {
			files = append(files, fileOf(path, info))
		}
	}
	if len(files) == 0 {
		return nil, fault.New(codes.NotFound, "read", pattern, "no file matches")
	}
	return files, nil
}

// googleExport is the file that makes a directory an export of Google's.
const googleExport = "spanner-export.json"

func findDirectory(dir string) ([]*File, error) {
	manifest, err := output.ReadManifest(dir)
	switch {
	case err == nil:
		return findExport(dir, manifest)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, manifestFault(filepath.Join(dir, output.ManifestName), err)
	}
	if _, err := os.Stat(filepath.Join(dir, googleExport)); err == nil {
		return findGoogleExport(dir)
	}
	return nil, fault.New(codes.NotFound, "read", dir, "the directory holds no whole export: it has neither "+output.ManifestName+" nor "+googleExport).
		WithHint(filesHint(dir))
}

// filesHint suggests patterns for the files of records that are in a directory
// without a manifest, or one below it.
func filesHint(dir string) string {
	var found []string
	for _, pattern := range []string{"*", filepath.Join("*", "*")} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			break // the directory's own name is none to put in a pattern
		}
		for _, path := range paths {
			ending := endingOfRecords(filepath.Base(path))
			like := filepath.Join(filepath.Dir(path), "*"+ending)
			if ending != "" && len(found) < maxPatterns && !slices.Contains(found, like) {
				found = append(found, like)
			}
		}
	}
	if len(found) == 0 {
		return "name the files with the records"
	}
	return "name the files: " + strings.Join(found, " ")
}

// maxPatterns is how many patterns a hint suggests.
const maxPatterns = 3

// endingOfRecords returns how the name of a file ends that says it holds records,
// such as .csv.gz; empty for any other.
func endingOfRecords(name string) string {
	if strings.Contains(name, ".avro-") {
		return ".avro-*" // as Google's export names them
	}
	kind, compression := format.FromName(name)
	if kind == "" || strings.HasSuffix(name, "-manifest.json") {
		return ""
	}
	stem := name
	if compression != "" {
		stem = strings.TrimSuffix(stem, filepath.Ext(stem))
	}
	return name[len(stem)-len(filepath.Ext(stem)):]
}

// findExport lists the files of an export of spanbulk's own.
func findExport(dir string, m *output.Manifest) ([]*File, error) {
	var files []*File
	for _, t := range m.Tables {
		for _, entry := range t.Files {
			f, err := inDirectory(dir, entry.Name)
			if err != nil {
				return nil, err
			}
			if f.Size != entry.Bytes {
				return nil, fault.New(codes.DataLoss, "read", f.Path, fmt.Sprintf("the file has %d bytes and the manifest says %d", f.Size, entry.Bytes))
			}
			f.Table, f.Kind, f.Compression = t.Name, format.Kind(m.Format), format.Compression(m.Compression)
			if f.Kind == format.Avro {
				f.Compression = format.None // it is inside
			}
			if f.checksum, err = parseChecksum("sha256", hex.DecodeString, entry.SHA256); err != nil {
				return nil, fault.New(codes.InvalidArgument, "read", filepath.Join(dir, output.ManifestName), "the checksum of "+entry.Name+" is none")
			}
			files = append(files, f)
		}
	}
	return files, nil
}

func parseChecksum(algorithm string, decode func(string) ([]byte, error), text string) (*checksum, error) {
	if text == "" {
		return nil, nil
	}
	sum, err := decode(text)
	if err != nil {
		return nil, err
	}
	return &checksum{algorithm, sum}, nil
}

// inDirectory finds a file that a manifest names. A name that leads out of the
// directory is refused.
func inDirectory(dir, name string) (*File, error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return nil, fault.New(codes.InvalidArgument, "read", dir, fmt.Sprintf("a manifest names %q, which is not in the directory", name))
	}
	path := filepath.Join(dir, local)
	info, err := os.Stat(path)
	if err != nil {
		return nil, openFault(path, err)
	}
	return fileOf(path, info), nil
}

// findGoogleExport lists the files of an export of Google's: a list of tables,
// and for each a list of Avro files with their MD5.
func findGoogleExport(dir string) ([]*File, error) {
	var export struct {
		Tables []struct {
			Name         string `json:"name"`
			ManifestFile string `json:"manifestFile"`
		} `json:"tables"`
	}
	if err := readJSON(filepath.Join(dir, googleExport), &export); err != nil {
		return nil, err
	}
	if len(export.Tables) == 0 {
		return nil, fault.New(codes.InvalidArgument, "read", filepath.Join(dir, googleExport), "it names no tables")
	}
	var all []*File
	for _, t := range export.Tables {
		manifest, err := inDirectory(dir, t.ManifestFile)
		if err != nil {
			return nil, err
		}
		var list struct {
			Files []struct {
				Name string `json:"name"`
				MD5  string `json:"md5"`
			} `json:"files"`
		}
		if err := readJSON(manifest.Path, &list); err != nil {
			return nil, err
		}
		var files []*File
		for _, entry := range list.Files {
			f, err := inDirectory(dir, entry.Name)
			if err != nil {
				return nil, err
			}
			f.Table, f.Kind, f.Compression = t.Name, format.Avro, format.None
			if f.checksum, err = parseChecksum("md5", base64.StdEncoding.DecodeString, entry.MD5); err != nil {
				return nil, fault.New(codes.InvalidArgument, "read", manifest.Path, "the checksum of "+entry.Name+" is none")
			}
			files = append(files, f)
		}
		table, err := holdTable(files)
		if err != nil {
			return nil, err
		}
		if table {
			all = append(all, files...)
		}
	}
	return all, nil
}

// holdTable reports whether an entry of Google's export is a table, not a view or
// a named schema. All its files have one schema.
func holdTable(files []*File) (bool, error) {
	if len(files) == 0 {
		return false, nil
	}
	path := files[0].Path
	f, err := os.Open(path)
	if err != nil {
		return false, openFault(path, err)
	}
	defer f.Close()
	other, err := format.AvroDefinesOther(f)
	if err != nil {
		return false, readFault(path, err)
	}
	return !other, nil
}

func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return openFault(path, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return readFault(path, errors.New("it is no JSON of the form expected"))
	}
	return nil
}

// Tables returns the names of the tables that the files say they are of, in
// order, without repetition.
func Tables(files []*File) []string {
	var names []string
	for _, f := range files {
		if f.Table != "" && !slices.Contains(names, f.Table) {
			names = append(names, f.Table)
		}
	}
	return names
}

// TotalBytes is the size of all files together; negative if one's is not known.
func TotalBytes(files []*File) int64 {
	var total int64
	for _, f := range files {
		if f.Size < 0 {
			return -1
		}
		total += f.Size
	}
	return total
}

func openFault(path string, err error) error {
	reason := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		reason = e.Err
	}
	code := codes.Unknown
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = codes.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = codes.PermissionDenied
	}
	return &fault.Error{Code: code, Op: "open", Object: path, Reason: reason.Error(), Err: err}
}

func readFault(object string, err error) error {
	return &fault.Error{Code: codes.InvalidArgument, Op: "read", Object: object, Reason: err.Error(), Err: err}
}

// manifestFault is the error of a manifest, which names its file itself.
func manifestFault(path string, err error) error {
	e := openFault(path, err).(*fault.Error)
	if reason, found := strings.CutPrefix(err.Error(), "read "+path+": "); found {
		e.Code, e.Op, e.Reason = codes.InvalidArgument, "read", reason
		e.Hint = "name the files themselves to import them without it"
	}
	return e
}
