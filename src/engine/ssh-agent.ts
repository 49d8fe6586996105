import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { Agent } from '../core/node-http.ts';

/** How much of what ssh says about its end is kept. */
const MAX_WORDS = 2_000;

export interface SshTarget {
  host: string;
  port: number | null;
  user: string | null;
}

/** Connects by the program ssh to the engine of another machine, as Docker's command line does: by the user's own settings, known hosts and keys. */
export class SshAgent extends Agent {
  readonly #target: SshTarget;

  constructor(target: SshTarget) {
    super();
    this.#target = target;
  }

  override createConnection(): Duplex {
    const { host, port, user } = this.#target;
    const options = [...(user === null ? [] : ['-l', user]), ...(port === null ? [] : ['-p', String(port)])];
    const dial = ['docker', 'system', 'dial-stdio'];
    return connectTo('ssh', ['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=30', '-T', ...options, '--', host, ...dial]);
  }
}

/** Returns a connection to the input and output of a program. It fails with the program's own words. */
function connectTo(program: string, args: readonly string[]): Duplex {
  const child = spawn(program, args, { stdio: 'pipe' });
  let words = '';
  const connection = new Duplex({
    read: () => void child.stdout.resume(),
    write: (chunk, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  child.stdin.on('error', () => {}); // the program has ended, and its words follow
  child.stderr.on('data', (chunk) => {
    words = `${words}${chunk}`.slice(-MAX_WORDS);
  });
  child.stdout.on('data', (chunk) => connection.push(chunk) || child.stdout.pause());
  child.on('error', (error) => connection.destroy(error));
  child.on('close', (code) => {
    if (code === 0) connection.push(null);
    else connection.destroy(new Error(words.trim() || `${program} ended with exit code ${code}`));
  });
  return connection;
}
