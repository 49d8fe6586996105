import type { Command } from 'commander';
import type { CliPieces } from './cli-pieces.ts';
import { addBatches } from './remote/batch-commands.ts';
import { addBilling, addCatalog, addModels } from './remote/catalog-commands.ts';
import { addClusters } from './remote/cluster-commands.ts';
import { addCommon, type Common, connect } from './remote/command-shape.ts';
import { addEndpoints } from './remote/endpoint-commands.ts';
import { addImport } from './remote/import/import-command.ts';
import { addJobs } from './remote/job-commands.ts';
import { addLimits } from './remote/limit-commands.ts';
import { addPods } from './remote/pod-commands.ts';
import { addOtherRecords } from './remote/record-commands.ts';
import { addSshKeys } from './remote/ssh-key-commands.ts';

/** Adds the commands that talk to a server through the public API. */
export function addRemoteCommands(program: Command, pieces: CliPieces): void {
  addSignIn(program, pieces);
  addEndpoints(program, pieces);
  addJobs(program, pieces);
  addBatches(program, pieces);
  addModels(program, pieces);
  addPods(program, pieces);
  addSshKeys(program, pieces);
  addClusters(program, pieces);
  addOtherRecords(program, pieces);
  addCatalog(program, pieces);
  addBilling(program, pieces);
  addLimits(program, pieces);
  addImport(program, pieces);
}

function addSignIn(program: Command, pieces: CliPieces): void {
  program
    .command('login')
    .description('save a server and its API key; the key is prompted for, or read from stdin')
    .argument('[url]', 'URL of the server', 'http://127.0.0.1:8080')
    .option('--name <context>', 'name of the context', 'default')
    .action(async (url: string, { name }: { name: string }) => {
      const { login } = await import('./remote/login.ts');
      await login(pieces, { url, name });
    });
  const contexts = program.command('contexts').description('manage saved servers');
  contexts
    .command('list', { isDefault: true })
    .description('list contexts; * marks the current one')
    .action(async () => {
      const { listContexts } = await import('./remote/login.ts');
      await listContexts(pieces);
    });
  contexts
    .command('use')
    .description('make a context the current one')
    .argument('<name>')
    .action(async (name: string) => (await import('./remote/contexts.ts')).useContext(pieces.terminal, name));
  contexts
    .command('remove')
    .description('remove a context and its key')
    .argument('<name>')
    .action(async (name: string) => (await import('./remote/contexts.ts')).removeContext(pieces.terminal, name));
  addCommon(program.command('open'))
    .description('open the console, optionally at an endpoint or pod')
    .argument('[id]', 'an endpoint or a pod, by id or name')
    .action(async (id: string | undefined, options: Common) => {
      const { openConsole } = await import('./remote/login.ts');
      await openConsole(await connect(pieces, options), id, pieces);
    });
}
