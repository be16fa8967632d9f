package cdc

import (
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// decodeJSON reads PostgreSQL's form: a JSON object with one member, which
// tells the kind of record.
func (d *Decoder) decodeJSON(v wire.Value, each func(*Record) error) error {
	kind, p := v.Parse()
	switch {
	case kind != wire.String:
		return errNotRecord
	case !utf8.Valid(p):
		return errNotUTF8
	}
	j := jsonText{text: p}
	err := j.object(func(name, value []byte) error {
		d.record.reset()
		var err error
		switch string(name) {
		case `"data_change_record"`:
			err = d.jsonChange(value)
		case `"heartbeat_record"`:
			err = d.jsonHeartbeat(value)
		case `"child_partitions_record"`:
			err = d.jsonChildren(value)
		default:
			return nil // a kind of record to come
		}
		if err != nil {
			return err
		}
		return each(&d.record)
	})
	if err != nil {
		return err
	}
	return j.end()
}

// jsonMembers hands the members of an object to each, names without quotes.
// Names with escapes are none that a record has.
func jsonMembers(object []byte, each func(name, value []byte) error) error {
	j := jsonText{text: object}
	return j.object(func(name, value []byte) error {
		return each(name[1:len(name)-1], value)
	})
}

// jsonString returns what a JSON string stands for; null is nil.
func (d *Decoder) jsonString(value []byte) ([]byte, error) {
	if string(value) == "null" {
		return nil, nil
	}
	text, longer, err := unquote(value, d.scratch)
	d.scratch = longer
	return text, err
}

// jsonDigits returns the digits of a whole number, which may stand in quotes.
func jsonDigits(value []byte) ([]byte, error) {
	if len(value) > 2 && value[0] == '"' {
		value = value[1 : len(value)-1]
	}
	if !isDigits(value) {
		return nil, errNotDigits
	}
	return value, nil
}

func jsonBool(value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	default:
		return false, errNotRecord
	}
}

func (d *Decoder) jsonTimestamp(value []byte) (Timestamp, error) {
	text, err := d.jsonString(value)
	if err != nil {
		return 0, err
	}
	return parseTimestamp(text)
}

func (d *Decoder) jsonHeartbeat(object []byte) error {
	d.record.Kind = Heartbeat
	err := jsonMembers(object, func(name, value []byte) (err error) {
		if string(name) == "timestamp" {
			d.record.At, err = d.jsonTimestamp(value)
		}
		return err
	})
	if err == nil && d.record.At == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChildren(object []byte) error {
	r := &d.record
	r.Kind = ChildPartitions
	err := jsonMembers(object, func(name, value []byte) (err error) {
		switch string(name) {
		case "start_timestamp":
			r.At, err = d.jsonTimestamp(value)
		case "record_sequence":
			r.Sequence, err = d.jsonString(value)
		case "child_partitions":
			j := jsonText{text: value}
			err = j.array(d.jsonChild)
		}
		return err
	})
	if err == nil && r.At == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChild(object []byte) error {
	c := d.record.child()
	return jsonMembers(object, func(name, value []byte) (err error) {
		switch string(name) {
		case "token":
			c.Token, err = d.jsonString(value)
		case "parent_partition_tokens":
			if string(value) == "null" {
				return nil
			}
			j := jsonText{text: value}
			err = j.array(func(element []byte) error {
				parent, err := d.jsonString(element)
				if parent != nil {
					c.Parents = append(c.Parents, parent)
				}
				return err
			})
		}
		return err
	})
}

func (d *Decoder) jsonChange(object []byte) error {
	d.record.Kind = DataChange
	c := &d.record.Change
	err := jsonMembers(object, func(name, value []byte) error {
		return d.jsonChangeMember(c, name, value)
	})
	if err == nil && c.Commit == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) jsonChangeMember(c *Change, name, value []byte) (err error) {
	switch string(name) {
	case "commit_timestamp":
		var text []byte
		if text, err = d.jsonString(value); err == nil {
			err = d.setCommit(c, text)
		}
	case "record_sequence":
		c.Sequence, err = d.jsonString(value)
	case "server_transaction_id":
		c.Transaction, err = d.jsonString(value)
	case "is_last_record_in_transaction_in_partition":
		c.Last, err = jsonBool(value)
	case "table_name":
		c.Table, err = d.jsonString(value)
	case "column_types":
		j := jsonText{text: value}
		err = j.array(d.jsonColumn)
	case "mods":
		j := jsonText{text: value}
		err = j.array(d.jsonMod)
	case "mod_type":
		c.ModType, err = d.jsonString(value)
	case "value_capture_type":
		c.Capture, err = d.jsonString(value)
	case "number_of_records_in_transaction":
		c.Records, err = jsonDigits(value)
	case "number_of_partitions_in_transaction":
		c.Partitions, err = jsonDigits(value)
	case "transaction_tag":
		c.Tag, err = d.jsonString(value)
	case "is_system_transaction":
		c.System, err = jsonBool(value)
	}
	return err
}

func (d *Decoder) jsonColumn(object []byte) error {
	var col Column
	err := jsonMembers(object, func(name, value []byte) (err error) {
		switch string(name) {
		case "name":
			col.Name, err = d.jsonString(value)
		case "type":
			col.Type, err = d.jsonNested(value)
		case "is_primary_key":
			col.Key, err = jsonBool(value)
		case "ordinal_position":
			col.Ordinal, err = jsonDigits(value)
		}
		return err
	})
	d.record.Change.Columns = append(d.record.Change.Columns, col)
	return err
}

func (d *Decoder) jsonMod(object []byte) error {
	var m Mod
	err := jsonMembers(object, func(name, value []byte) (err error) {
		switch string(name) {
		case "keys":
			m.Keys, err = d.jsonNested(value)
		case "new_values":
			m.New, err = d.jsonNested(value)
		case "old_values":
			m.Old, err = d.jsonNested(value)
		}
		return err
	})
	d.record.Change.Mods = append(d.record.Change.Mods, m)
	return err
}

// jsonNested returns the text of an object. Where it came as a string that holds
// one, that string's.
func (d *Decoder) jsonNested(value []byte) ([]byte, error) {
	if len(value) > 0 && value[0] == '"' {
		return d.jsonString(value)
	}
	return value, nil
}
