/** Beside these, `run` ends with the code of its command. Numbers from 64 to 78 as in sysexits.h. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 69,
  holdLost: 70,
  tryAgain: 75,
  notExecutable: 126,
  notFound: 127,
  /** And the number of the signal. */
  signalled: 128,
} as const;

export const EXIT_CODES_HELP = `
Exit codes:
  0    done (run: the command succeeded, or was skipped)
  1    refused by the server, or failed
  2    wrong usage
  69   no server answers, or none that can take requests now
  70   run: the hold was lost, the command was stopped
  75   held, full, or the wait is over: try again later
  126  run: the command is not executable
  127  run: the command was not found
  128+ run: ended by that signal
  run otherwise exits as its command did, or by --on-skip`;
