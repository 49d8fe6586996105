import { finished } from 'node:stream/promises';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { ExitStatus, type TerminalStreams } from '../terminal/terminal.ts';
import { openSession, type RemoteSession, type SessionPlace } from './remote-session.ts';

export interface RunProgramOptions {
  tty?: boolean;
  /** False: its stdin is empty. */
  stdin?: boolean;
}

/** The exit status when the session ended before the program, as ssh has it. */
const CUT_OFF = 255;

/**
 * Runs a program in a pod or worker as if it ran here: with its streams, its size of the terminal, its signals and its exit
 * code, which is thrown as an ExitStatus.
 */
export async function runProgram(
  client: ApiClient,
  place: SessionPlace,
  command: string[],
  options: RunProgramOptions,
  { terminal, note }: Pick<CliPieces, 'terminal' | 'note'>,
): Promise<void> {
  const streams = terminal.openStreams();
  const hasTerminal = options.tty ?? (streams.isTerminal && options.stdin !== false);
  // Without a terminal of its own, the program gets nothing that is typed here: the shell would wait for the end of it in vain.
  const hasInput = options.stdin !== false && (hasTerminal || !streams.isInputTerminal);
  const session = await openSession(client, place, {
    ...(command.length > 0 && { command }),
    terminal: hasTerminal ? streams.size() : null,
    input: hasInput,
  });
  session.onNotice = (text) => note(`${hasTerminal ? '\r\n' : ''}podyard: ${text}`);
  const disconnect = connectStreams(session, streams, { hasTerminal, hasInput });
  try {
    const { code, reason } = await session.ended;
    await Promise.all([session.output, session.errors].map((stream) => finished(stream, { writable: false })));
    if (reason !== null) note(`podyard: the session ended: ${reason}`);
    if (code !== 0) throw new ExitStatus(code ?? CUT_OFF);
  } finally {
    disconnect();
  }
}

/** Returns what undoes it. */
function connectStreams(
  session: RemoteSession,
  streams: TerminalStreams,
  { hasTerminal, hasInput }: { hasTerminal: boolean; hasInput: boolean },
): () => void {
  session.output.pipe(streams.output, { end: false });
  session.errors.pipe(streams.errors, { end: false });
  if (hasInput) streams.input.pipe(session.input);
  if (hasTerminal) streams.setRaw(true);
  const leaveResize = hasTerminal ? streams.onResize(() => session.resize(streams.size())) : () => {};
  const leaveSignals = streams.onSignal((name) => session.signal(name));
  return () => {
    leaveResize();
    leaveSignals();
    if (hasTerminal) streams.setRaw(false);
    streams.input.unpipe(session.input);
    streams.input.pause();
    session.close();
  };
}
