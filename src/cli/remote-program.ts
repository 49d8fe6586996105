import type { Command } from 'commander';
import type { CliPieces } from './cli-pieces.ts';
import { addConfirm, type ConfirmOptions, confirmDeletion, requireConfirmable } from './confirm.ts';
import { addBatches } from './remote/batch-commands.ts';
import { addBilling, addBudgets } from './remote/billing-commands.ts';
import { addCatalog, addModels } from './remote/catalog-commands.ts';
import { addClusters } from './remote/cluster-commands.ts';
import { addCommon, type Common, connect } from './remote/command-shape.ts';
import { addEndpoints } from './remote/endpoint-commands.ts';
import { addCopy, addExec } from './remote/exec-commands.ts';
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
  addExec(program, pieces);
  addCopy(program, pieces);
  addSshKeys(program, pieces);
  addClusters(program, pieces);
  addOtherRecords(program, pieces);
  addCatalog(program, pieces);
  addBilling(program, pieces);
  addBudgets(program, pieces);
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
    .alias('ls')
    .description('list contexts; * marks the current one')
    .option('--json', 'print JSON, for programs; without keys')
    .action(async (options: { json?: boolean }) => {
      const { listContexts } = await import('./remote/login.ts');
      await listContexts(pieces, options);
    });
  contexts
    .command('use')
    .description('make a context the current one')
    .argument('<name>')
    .action(async (name: string) => (await import('./remote/contexts.ts')).useContext(pieces.terminal, name));
  addConfirm(contexts.command('remove'))
    .description('remove a context and its key from this machine')
    .argument('<name>')
    .action(async (name: string, options: ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const { removeContext, requireContext } = await import('./remote/contexts.ts');
      await requireContext(pieces.terminal, name);
      await confirmDeletion(pieces, { what: `the context ${name} and its key`, name }, options);
      await removeContext(pieces.terminal, name);
    });
  addCommon(program.command('open'))
    .description('open the console, optionally at an endpoint or pod')
    .argument('[id]', 'an endpoint or a pod, by id or name')
    .action(async (id: string | undefined, options: Common) => {
      const { openConsole } = await import('./remote/login.ts');
      await openConsole(await connect(pieces, options), id, options, pieces);
    });
}
