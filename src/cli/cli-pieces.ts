import type { Flags } from '../config.ts';
import type { MasterKeySource } from '../core/master-key.ts';
import type { Context } from '../domain/context.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { Terminal } from './remote/terminal.ts';

/** Where a command's words go. */
export interface CliOutput {
  /** A result, for stdout. */
  print(text: string): void;
  /** Anything else, for stderr. */
  note(text: string): void;
}

/** What there is of an installation: a database, and a directory for the rest. */
export interface Storage {
  dataDir: string;
  /** Null: the embedded database in the data directory. */
  databaseUrl: string | null;
  masterKey: MasterKeySource;
  /** Starts, or shares, the embedded database for as long as `work` takes; makes it where there is none. Not migrated. */
  withEmbedded<T>(work: (databaseUrl: string) => Promise<T>): Promise<T>;
}

/** What the commands act on. Given from outside, so that showing the help loads nothing of it. */
export interface CliPieces extends CliOutput {
  /** Runs the server until it is told to stop. */
  serve(flags: Flags): Promise<void>;
  /** Runs the demonstration; with `exit` it ends by itself. */
  demo(flags: Flags & { exit?: boolean }): Promise<void>;
  /** Opens the database that the flags name, brings it up to date, and closes it after `work`. */
  withDatabase<T>(flags: Flags, work: (context: Context) => Promise<T>): Promise<T>;
  /** Where the data is that the flags and the environment name; opens nothing. */
  storage(flags: Flags): Storage;
  /** A runtime with what this installation has there, as the flags and the environment reach it; the caller closes it. */
  openRuntime(flags: Flags, name: Runtime['name'], installation: string): Promise<Runtime>;
  /** Where the master keys are that the flags and the environment name. */
  masterKeySource(flags: Flags): MasterKeySource;
  /** Looks at the machine as a server with these flags would; false when it could not run. */
  doctor(flags: Flags, isJson: boolean): Promise<boolean>;
  /** For commands that talk to a server. */
  terminal: Terminal;
}
