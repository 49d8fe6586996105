import type { Flags } from '../../config/settings.ts';
import type { MasterKeySource } from '../../core/master-key.ts';
import type { Context } from '../../domain/context.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { SystemdUnit } from '../storage/systemd-unit.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The terminal that stdout is. */
export interface Screen {
  /** Its width; null if it does not say. */
  readonly columns: number | null;
  /** False with NO_COLOR. */
  readonly hasColors: boolean;
}

/** A command's output. On a terminal, control characters in texts are shown instead of obeyed. */
export interface CliOutput {
  /** Absent where stdout is a file or a pipe: tables are not cut, and nothing is colored. */
  readonly screen?: Screen;
  /** Writes a result to stdout. */
  print(text: string): void;
  /** Writes anything else to stderr. */
  note(text: string): void;
}

/** Where an installation keeps its data: a database, and a directory for the rest. */
export interface Storage {
  dataDir: string;
  /** Null: the embedded database in the data directory. */
  databaseUrl: string | null;
  masterKey: MasterKeySource;
  /** Runs `work` with the embedded database up: started, or shared with a server; created if missing. Runs no migrations. */
  withEmbedded<T>(work: (databaseUrl: string) => Promise<T>): Promise<T>;
}

/** Variables of a server, which count less than those of the environment. */
type Env = Readonly<Record<string, string>>;

export interface DoctorOptions {
  isJson: boolean;
  /** Nothing is asked that the operator's settings do not name. */
  isOffline: boolean;
}

/** The parts that the commands act on, each from flags, environment and `more` variables. Injected, so that `--help` loads none of it. */
export interface CliPieces extends CliOutput {
  /** Runs the server until a signal stops it. */
  serve(flags: Flags): Promise<void>;
  /** Runs the demo; with `exit` it does not stay up. */
  demo(flags: Flags & { exit?: boolean }): Promise<void>;
  /** Runs `work` with a server of its own up, whose settings are the flags alone, and with the key of its admin. */
  withServer(
    flags: Flags & { dataDir: string },
    work: (target: { url: string; key: string }) => Promise<void>,
  ): Promise<void>;
  /** Runs a server that clients cannot find until a job has proven that it works; throws a sentence if it does not. */
  prove(flags: Flags): Promise<void>;
  /** Copies the models of the worker that the environment names into the folder. */
  copyModels(folder: string): Promise<void>;
  /** Serves the files of the network volume that is mounted there, until no request has come for a while. */
  serveFiles(folder: string, port: number): Promise<void>;
  /** Runs `work` with the database that the flags name, migrated. */
  withDatabase<T>(flags: Flags, work: (context: Context) => Promise<T>, more?: Env): Promise<T>;
  /** Returns where the data is. Opens nothing. */
  storage(flags: Flags, more?: Env): Storage;
  /** Reads how systemd runs a server on this machine; null if it does not. */
  systemdUnit(): Promise<SystemdUnit | null>;
  /** Opens a runtime with this installation's workloads. The caller closes it. */
  openRuntime(flags: Flags, name: Runtime['name'], installation: string, more?: Env): Promise<Runtime>;
  /** Returns where the master keys are. */
  masterKeySource(flags: Flags, more?: Env): MasterKeySource;
  /** Returns whether several users may share the process runtime. */
  allowsInsecureProcesses(flags: Flags, more?: Env): boolean;
  /** Checks this machine for a server with these flags. Resolves with false if it cannot run. */
  doctor(flags: Flags, options: DoctorOptions, more?: Env): Promise<boolean>;
  /** The user's terminal, for commands that talk to a server or run for long. */
  terminal: Terminal;
}

/** The parts with which a long-running command reports its progress and is interrupted. */
export type CommandOutput = Pick<CliPieces, 'print' | 'note' | 'terminal' | 'screen'>;
