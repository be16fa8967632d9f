package cdc

import (
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// decodeJSON reads PostgreSQL's form: a JSON object with one member, which
// tells the kind of record. The text is walked over once, by d.json.
func (d *Decoder) decodeJSON(v wire.Value, each func(*Record) error) error {
	kind, p := v.Parse()
	switch {
	case kind != wire.String:
		return errNotRecord
	case !utf8.Valid(p):
		return errNotUTF8
	}
	d.json = jsonText{text: p}
	err := d.jsonMembers(func(name []byte) error {
		d.record.reset()
		var err error
		switch string(name) {
		case "data_change_record":
			err = d.jsonChange()
		case "heartbeat_record":
			err = d.jsonHeartbeat()
		case "child_partitions_record":
			err = d.jsonChildren()
		default:
			return d.json.skip() // a kind of record to come
		}
		if err != nil {
			return err
		}
		return each(&d.record)
	})
	if err != nil {
		return err
	}
	return d.json.end()
}

// jsonMembers hands the names of the members of the next object to each, without
// quotes. Names with escapes are none that a record has.
func (d *Decoder) jsonMembers(each func(name []byte) error) error {
	return d.json.members(func(name []byte) error { return each(name[1 : len(name)-1]) })
}

// jsonString takes a string and returns what it stands for; null is nil.
func (d *Decoder) jsonString() ([]byte, error) {
	if d.json.peek() == 'n' {
		return nil, d.json.word()
	}
	quoted, err := d.json.quoted()
	if err != nil {
		return nil, err
	}
	text, longer, err := unquote(quoted, d.scratch)
	d.scratch = longer
	return text, err
}

// jsonDigits takes a whole number, which may stand in quotes, and returns its
// digits.
func (d *Decoder) jsonDigits() ([]byte, error) {
	value, err := d.json.value()
	if err != nil {
		return nil, err
	}
	if len(value) > 2 && value[0] == '"' {
		value = value[1 : len(value)-1]
	}
	if !isDigits(value) {
		return nil, errNotDigits
	}
	return value, nil
}

func (d *Decoder) jsonBool() (bool, error) {
	switch value, err := d.json.value(); {
	case err != nil:
		return false, err
	case string(value) == "true":
		return true, nil
	case string(value) == "false" || string(value) == "null":
		return false, nil
	default:
		return false, errNotRecord
	}
}

func (d *Decoder) jsonTimestamp() (Timestamp, error) {
	text, err := d.jsonString()
	if err != nil {
		return 0, err
	}
	return parseTimestamp(text)
}

func (d *Decoder) jsonHeartbeat() error {
	d.record.Kind = Heartbeat
	err := d.jsonMembers(func(name []byte) (err error) {
		if string(name) != "timestamp" {
			return d.json.skip()
		}
		d.record.At, err = d.jsonTimestamp()
		return err
	})
	if err == nil && d.record.At == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChildren() error {
	r := &d.record
	r.Kind = ChildPartitions
	err := d.jsonMembers(func(name []byte) (err error) {
		switch string(name) {
		case "start_timestamp":
			r.At, err = d.jsonTimestamp()
		case "record_sequence":
			r.Sequence, err = d.jsonString()
		case "child_partitions":
			err = d.json.elements(d.jsonChild)
		default:
			err = d.json.skip()
		}
		return err
	})
	if err == nil && r.At == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChild() error {
	c := d.record.child()
	return d.jsonMembers(func(name []byte) (err error) {
		switch string(name) {
		case "token":
			c.Token, err = d.jsonString()
		case "parent_partition_tokens":
			if d.json.peek() == 'n' {
				return d.json.word()
			}
			err = d.json.elements(func() error {
				parent, err := d.jsonString()
				if parent != nil {
					c.Parents = append(c.Parents, parent)
				}
				return err
			})
		default:
			err = d.json.skip()
		}
		return err
	})
}

func (d *Decoder) jsonChange() error {
	d.record.Kind = DataChange
	c := &d.record.Change
	err := d.jsonMembers(func(name []byte) error { return d.jsonChangeMember(c, name) })
	if err == nil && c.Commit == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChangeMember(c *Change, name []byte) (err error) {
	switch string(name) {
	case "commit_timestamp":
		var text []byte
		if text, err = d.jsonString(); err == nil {
			err = d.setCommit(c, text)
		}
	case "record_sequence":
		c.Sequence, err = d.jsonString()
	case "server_transaction_id":
		c.Transaction, err = d.jsonString()
	case "is_last_record_in_transaction_in_partition":
		c.Last, err = d.jsonBool()
	case "table_name":
		c.Table, err = d.jsonString()
	case "column_types":
		err = d.json.elements(d.jsonColumn)
	case "mods":
		err = d.json.elements(d.jsonMod)
	case "mod_type":
		c.ModType, err = d.jsonString()
	case "value_capture_type":
		c.Capture, err = d.jsonString()
	case "number_of_records_in_transaction":
		c.Records, err = d.jsonDigits()
	case "number_of_partitions_in_transaction":
		c.Partitions, err = d.jsonDigits()
	case "transaction_tag":
		c.Tag, err = d.jsonString()
	case "is_system_transaction":
		c.System, err = d.jsonBool()
	default:
		err = d.json.skip()
	}
	return err
}

func (d *Decoder) jsonColumn() error {
	var col Column
	err := d.jsonMembers(func(name []byte) (err error) {
		switch string(name) {
		case "name":
			col.Name, err = d.jsonString()
		case "type":
			col.Type, err = d.jsonNested()
		case "is_primary_key":
			col.Key, err = d.jsonBool()
		case "ordinal_position":
			col.Ordinal, err = d.jsonDigits()
		default:
			err = d.json.skip()
		}
		return err
	})
	d.record.Change.Columns = append(d.record.Change.Columns, col)
	return err
}

func (d *Decoder) jsonMod() error {
	var m Mod
	err := d.jsonMembers(func(name []byte) (err error) {
		switch string(name) {
		case "keys":
			m.Keys, err = d.jsonNested()
		case "new_values":
			m.New, err = d.jsonNested()
		case "old_values":
			m.Old, err = d.jsonNested()
		default:
			err = d.json.skip()
		}
		return err
	})
	d.record.Change.Mods = append(d.record.Change.Mods, m)
	return err
}

// jsonNested takes an object and returns its text. Where it came as a string
// that holds one, that string's.
func (d *Decoder) jsonNested() ([]byte, error) {
	if d.json.peek() == '"' {
		return d.jsonString()
	}
	return d.json.value()
}
