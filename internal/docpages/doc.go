// Package docpages runs the commands of the README and of the tutorials as a reader would: one shell per page, block by block, from the
// root of a copy of the repository. It compares the output with the blocks that the page shows, and makes the edits that the page
// describes.
//
// A page consists of fenced blocks, whose language determines what happens:
//
//   - sh: the shell runs the block. The output of a command in the background belongs to the block that is running, or to the next one.
//   - text after sh: the lines that the block prints, in this order. Other lines may be between them. "..." stands for any text.
//   - diff: an edit. The lines that start with "-" or a space must occur once in the file, one after another. The lines that start with "+"
//     or a space replace them.
//
// All other languages are not run. A comment before a block changes its treatment:
//
//   - <!-- exit: 1 -->: the last command of the block has this exit code. Default: 0.
//   - <!-- wait: 127.0.0.1:8080 -->: after the block, wait until a server listens at this address, as the text tells the reader.
//   - <!-- edit: PATH -->: the file of a diff.
//   - <!-- skip: REASON -->: the block is not run.
package docpages
