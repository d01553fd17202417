// What the standard streams are connected to.
#ifndef ATTUNE_CLIENT_CLI_TERMINAL_H_
#define ATTUNE_CLIENT_CLI_TERMINAL_H_

namespace attune::cli {

bool StdinIsTerminal();
bool StdoutIsTerminal();
bool StderrIsTerminal();

// Columns of the terminal at standard output, else COLUMNS, else 80; at least 40.
int TerminalWidth();

// Colours: only on a terminal, and not if NO_COLOR is set (https://no-color.org) or TERM is "dumb".
bool UseColor();

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_TERMINAL_H_
