import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import type { RunProgramOptions } from './run-program.ts';

interface ExecOptions extends Common, RunProgramOptions {
  endpoint?: string;
  worker?: string;
  sessions?: boolean;
  all?: boolean;
  end?: string;
}

const EXAMPLES = `
The command's exit status is the program's; 255 if the session ended before it. The key needs the scope \`exec\`.

Examples:
  podyard exec my-pod                              a shell
  podyard exec my-pod -- nvidia-smi -L
  podyard exec --endpoint llm -- sh -c 'cat /proc/meminfo' > meminfo
  tar c data | podyard exec my-pod -- tar x -C /workspace`;

export function addExec(program: Command, pieces: CliPieces): void {
  addCommon(program.command('exec'))
    .description('run a program, or a shell, in a pod or worker')
    .argument('[name]', 'a pod by id or name, or a worker by id')
    .argument('[command...]', 'the program and its arguments, after -- (default: a shell)')
    .option('--endpoint <endpoint>', 'run it in a worker of this endpoint, by id or name')
    .option('--worker <id>', 'with --endpoint: in this worker (default: one that runs)')
    .option('-t, --tty', 'with a terminal (default: if stdin and stdout are one)')
    .option('-T, --no-tty', 'without a terminal')
    .option('-n, --no-stdin', 'do not read stdin')
    .option('--sessions', 'list sessions: who ran what, where, from where and for how long')
    .option('--all', 'with --sessions: of all users, for admins')
    .option('--end <session>', 'end a session, by its id')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string | undefined, command: string[], options: ExecOptions) => {
      const client = await connect(pieces, options);
      if (options.end !== undefined) {
        await client.call('delete', '/v2/account/terminals/{id}', { path: { id: options.end } });
        return;
      }
      if (options.sessions) {
        const { showSessions } = await import('./remote-session.ts');
        await showSessions(client, { isOfAll: options.all === true, isJson: options.json === true }, pieces);
        return;
      }
      const [{ findWorkload }, { runProgram }] = await Promise.all([
        import('./find-workload.ts'),
        import('./run-program.ts'),
      ]);
      const { endpoint, worker } = options;
      const place = await findWorkload(client, { name: endpoint === undefined ? name : undefined, endpoint, worker });
      const words = endpoint === undefined || name === undefined ? command : [name, ...command]; // there is no name then
      await runProgram(client, place, words, options, pieces);
    });
}

const COPY_EXAMPLES = `
Names a file or folder in a pod or worker as <pod or worker>:<path>; with --endpoint, as :<path>. Permissions and times are kept. A copy
that is interrupted leaves nothing behind. The image needs sh and tar; the key needs the scope \`exec\`.

Examples:
  podyard cp data.csv my-pod:/workspace/
  podyard cp my-pod:/workspace/results ./results
  podyard cp --endpoint llm :/tmp/trace.json .`;

export function addCopy(program: Command, pieces: CliPieces): void {
  addCommon(program.command('cp'))
    .description('copy files and folders to and from a pod or worker')
    .argument('<from>', 'a path here, or <pod or worker>:<path>')
    .argument('<to>', 'the other one')
    .option('--endpoint <endpoint>', 'a worker of this endpoint, by id or name')
    .option('--worker <id>', 'with --endpoint: this worker (default: one that runs)')
    .addHelpText('after', COPY_EXAMPLES)
    .action(async (from: string, to: string, options: Common & { endpoint?: string; worker?: string }) => {
      const [there, here] = [REMOTE.exec(from), REMOTE.exec(to)];
      if ((there === null) === (here === null)) {
        throw new UsageError('one of the two must be in a pod or worker: <pod or worker>:<path>');
      }
      const [, name = '', path = ''] = (there ?? here)!;
      const client = await connect(pieces, options);
      const [{ findWorkload }, copy] = await Promise.all([import('./find-workload.ts'), import('./copy-files.ts')]);
      const place = await findWorkload(client, { ...options, name: name === '' ? undefined : name });
      if (there) await copy.copyHere(client, place, path, to, pieces);
      else await copy.copyThere(client, place, from, path, pieces);
    });
}

/** A path here may hold a colon after a slash. */
const REMOTE = /^([^/:]*):(.+)$/s;
