package report

import (
	"strings"
	"unicode/utf8"
)

// WrapCommand returns a command of a POSIX shell in lines of at most 100 columns that can be copied. The caller writes the first line after
// a prefix of the given length, by which further lines are indented.
func WrapCommand(command string, indent int) string {
	return strings.Join(wrapCommand(command, indent), "\n")
}

// command writes a command of a POSIX shell after a prefix. It breaks lines with a backslash, so that the command can be copied.
func (p *printer) command(prefix, command string) {
	for i, line := range wrapCommand(visible(command), len(prefix)) {
		if i == 0 {
			line = prefix + line
		}
		p.line("%s", line)
	}
}

// wrapCommand breaks a command into lines of at most width columns. The first line has no indent, because the caller writes a prefix of
// this length. The words of further lines are indented. A quoted word that is too long for a line continues in the first column of the next
// one.
func wrapCommand(command string, indent int) []string {
	const mark = ` \`
	var lines []string
	line, column := "", indent
	flush := func(end string) {
		lines = append(lines, line+end)
		line, column = strings.Repeat(" ", indent), indent
	}
	words := shellWords(command)
	for i, word := range words {
		space, last := 1, i == len(words)-1
		if strings.TrimSpace(line) == "" {
			space = 0
		}
		room := width - len(mark)
		if last {
			room = width
		}
		n := utf8.RuneCountInString(word)
		pair := n // an option and its value are on one line, if they fit
		if strings.HasPrefix(word, "-") && !last {
			if both := n + 1 + utf8.RuneCountInString(words[i+1]); indent+both <= room {
				pair = both
			}
		}
		if space > 0 && column+space+pair > room && (indent+pair <= room || column > width/2) {
			flush(mark)
			space = 0
		}
		if space > 0 {
			line, column = line+" ", column+1
		}
		for column+n > room {
			head, rest, ok := cutQuoted(word, room-column-len(mark))
			if !ok {
				break
			}
			lines = append(lines, line+head+`\`)
			line, column, word = "", 0, rest
			n = utf8.RuneCountInString(word)
		}
		line, column = line+word, column+n
	}
	return append(lines, line)
}

// shellWords splits a command at the spaces outside of quotation marks.
func shellWords(command string) []string {
	var out []string
	start, quote := 0, byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case quote == 0 && c == '\\':
			i++
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == '"' && c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote == 0 && c == ' ':
			out = append(out, command[start:i])
			start = i + 1
		}
	}
	return append(out, command[start:])
}

// minPart is the minimum number of columns of a part of a word.
const minPart = 20

// cutQuoted cuts a word within single quotation marks, so that the first part, with its closing mark, has at most n columns.
func cutQuoted(word string, n int) (head, rest string, ok bool) {
	if n < minPart {
		return "", "", false
	}
	best, columns, quote := 0, 0, byte(0)
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRuneInString(word[i:])
		if columns++; columns > n-1 {
			break
		}
		c := word[i]
		switch {
		case quote == 0 && c == '\\':
			size, columns = size+1, columns+1
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c == '\\':
			size, columns = size+1, columns+1
		}
		i += size
		if quote == '\'' && r != '\'' && i < len(word) {
			best = i
		}
	}
	if best == 0 {
		return "", "", false
	}
	return word[:best] + "'", "'" + word[best:], true
}
