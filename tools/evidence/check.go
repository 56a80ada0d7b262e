// Checks claims about a history with the packages of Go's checksum database, golang.org/x/mod/sumdb/note and tlog.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run check.go < CLAIMS
//
// A claim is a line of JSON, see claims.py. Prints for each one line: `ok`, or `no` and why.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type claim struct {
	Kind   string
	Leaf   []byte   // the descriptor
	Leaves [][]byte // all of them
	Index  int64
	Size   int64
	From   int64
	Old    []byte // the root at From
	Root   []byte
	Hashes [][]byte
	Note   string
	Key    string // a vkey
}

func hash(data []byte) (result tlog.Hash, err error) {
	if len(data) != len(result) {
		return result, fmt.Errorf("a hash of %d bytes", len(data))
	}
	copy(result[:], data)
	return result, nil
}

// cosigner verifies cosignature/v1, which the package note does not know, with the Ed25519 of Go's library.
type cosigner struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.id }
func (c cosigner) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	header := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(signature))
	return ed25519.Verify(c.key, append([]byte(header), text...), signature[8:])
}

func verifier(vkey string) (note.Verifier, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, errors.New("not a key")
	}
	material, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(material) != 1+ed25519.PublicKeySize || material[0] != 4 {
		return note.NewVerifier(vkey)
	}
	digest := sha256.Sum256(append([]byte(parts[0]+"\n"), material...))
	id := binary.BigEndian.Uint32(digest[:])
	if fmt.Sprintf("%08x", id) != parts[1] {
		return nil, errors.New("the key's id is another")
	}
	return cosigner{parts[0], id, material[1:]}, nil
}

// checkNote checks the signature of one key, and that the text is a checkpoint of this root and size.
func checkNote(c claim) error {
	key, err := verifier(c.Key)
	if err != nil {
		return err
	}
	opened, err := note.Open([]byte(c.Note), note.VerifierList(key))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(opened.Text, "\n")
	tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + rest))
	if err != nil {
		return err
	}
	if tree.N != c.Size || !bytes.Equal(tree.Hash[:], c.Root) {
		return errors.New("it is for another tree")
	}
	return nil
}

func checkInclusion(c claim) error {
	var proof tlog.RecordProof
	for _, data := range c.Hashes {
		next, err := hash(data)
		if err != nil {
			return err
		}
		proof = append(proof, next)
	}
	root, err := hash(c.Root)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(proof, c.Size, root, c.Index, tlog.RecordHash(c.Leaf))
}

func checkConsistency(c claim) error {
	var proof tlog.TreeProof
	for _, data := range c.Hashes {
		next, err := hash(data)
		if err != nil {
			return err
		}
		proof = append(proof, next)
	}
	old, err := hash(c.Old)
	if err != nil {
		return err
	}
	root, err := hash(c.Root)
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, c.Size, root, c.From, old)
}

// checkTree computes the root of all leaves again.
func checkTree(c claim) error {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var found []tlog.Hash
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	for index, leaf := range c.Leaves {
		hashes, err := tlog.StoredHashes(int64(index), leaf, reader)
		if err != nil {
			return err
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(int64(len(c.Leaves)), reader)
	if err == nil && !bytes.Equal(root[:], c.Root) {
		err = errors.New("the leaves lead to another root")
	}
	return err
}

func main() {
	checks := map[string]func(claim) error{
		"inclusion": checkInclusion, "consistency": checkConsistency, "tree": checkTree, "signature": checkNote, "cosignature": checkNote,
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		var next claim
		err := json.Unmarshal(lines.Bytes(), &next)
		if check, known := checks[next.Kind]; err == nil && known {
			err = check(next)
		} else if err == nil {
			err = errors.New("a claim of another kind")
		}
		if err != nil {
			fmt.Printf("no %q\n", err.Error())
		} else {
			fmt.Println("ok")
		}
	}
	if lines.Err() != nil {
		fmt.Fprintln(os.Stderr, lines.Err())
		os.Exit(1)
	}
}
