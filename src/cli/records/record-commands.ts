import { Argument, type Command, Option } from 'commander';
import type { Flags } from '../../config.ts';
import { TEMPLATE_SOURCES } from '../../domain/templates/template.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addDatabaseOptions } from '../shared/command-options.ts';
import { addCommon, addRecordCommands, type Common, connect, records, send } from '../shared/command-shape.ts';
import { addName, requireName } from '../shared/name-argument.ts';
import type { Wire } from '../shared/records.ts';
import { envQuery, patchVariables, requireVariables } from './env-options.ts';
import {
  addContainerOptions,
  defaultsFor,
  type Purpose,
  present,
  type TemplateOptions,
  templateBody,
  wholeNumber,
} from './fields.ts';

export function addOtherRecords(program: Command, pieces: CliPieces): void {
  addTemplates(program, pieces);
  addSecrets(program, pieces);
  addVolumes(program, pieces);
  addRegistries(program, pieces);
}

function addTemplates(program: Command, pieces: CliPieces): void {
  const templates = program
    .command('templates')
    .description('manage templates: container settings for endpoints and pods');
  addRecordCommands(templates, pieces, async () => (await records()).RECORDS.templates);
  addTemplateOptions(templates.command('create'), 'create')
    .description('create a template')
    .action(async (name: string | undefined, options: TemplateOptions & Common) => {
      const given = templateBody({ ...options, name: requireName(name, options.name, 'templates create') });
      const { resolveNames } = await records();
      await send(pieces, options, async (client) =>
        client.call('POST', '/v2/templates', await resolveNames(client, given)),
      );
    });
  addTemplateOptions(templates.command('update'), 'update')
    .description('change the given settings only; what was made from it does not change')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: TemplateOptions & Common) => {
      const given = templateBody(options);
      envQuery(options); // refuses a malformed command line before anything is read
      const [{ findRecord, RECORDS, resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const template = await findRecord(client, RECORDS.templates, id);
      requireVariables(options, template as never);
      const body = await resolveNames(client, given);
      const path = `/v2/templates/${template.id}`;
      const patch = (change: Wire, query: string) => client.call<Wire>('PATCH', `${path}${query}`, change);
      await send(pieces, options, () => patchVariables({ before: template, body, options }, patch, pieces));
    });
  addCommon(templates.command('public'))
    .description('list public templates: the installation’s own, verified ones, and those of other users')
    .addOption(new Option('--source <source...>', 'of these sources only').choices([...TEMPLATE_SOURCES]))
    .action(async (options: Common & { source?: string[] }) => {
      const { listRecords, RECORDS, showRecords } = await records();
      const query = options.source ? `?source=${options.source.join(',')}` : '';
      const none = 'There are none. To publish one of yours: `podyard templates update <template> --public`.';
      const kind = { ...RECORDS.templates, none, path: `/v2/catalog/templates${query}` };
      const found = await listRecords(await connect(pieces, options), kind);
      showRecords(found, kind, options.json === true, pieces);
    });
  addDatabaseOptions(templates.command('mark'))
    .description('say that a public template is official or verified, directly in the database')
    .argument('<id>', 'id or name')
    .addArgument(new Argument('<mark>', 'what the catalog says of it').choices(['official', 'verified', 'none']))
    .action(async (id: string, mark: string, options: Flags) => {
      const { markTemplate } = await import('../server/mark-template.ts');
      await pieces.withDatabase(options, (context) => markTemplate(context, id, mark, pieces));
    });
}

function addTemplateOptions(command: Command, purpose: Purpose): Command {
  const by = defaultsFor(purpose);
  addCommon(addContainerOptions(command, purpose))
    .option('--serverless', `a template for endpoints${by('for pods')}`)
    .option('--public', `let other users see and use it${by('no')}`)
    .addOption(new Option('--category <hardware>', `what it is for${by('NVIDIA')}`).choices(['CPU', 'NVIDIA', 'AMD']))
    .option('--ssh', 'pods made from it get the SSH keys of their account')
    .option('--jupyter', 'pods made from it get a password for Jupyter')
    .option('--cuda <version...>', 'CUDA versions that it may run on, e.g. 12.8')
    .option('--persistent <gb[:path]>', 'storage of its pods that outlives the container (default path: /workspace)');
  if (purpose === 'create') return command;
  return command
    .option('--no-serverless', 'a template for pods')
    .option('--no-public', 'keep it to yourself')
    .option('--no-ssh', 'pods made from it get no SSH keys')
    .option('--no-jupyter', 'pods made from it get no password for Jupyter');
}

function addSecrets(program: Command, pieces: CliPieces): void {
  const secrets = program.commands.find((command) => command.name() === 'secrets')!;
  addRecordCommands(secrets, pieces, async () => (await records()).RECORDS.secrets);
  addCommon(addName(secrets.command('create')))
    .description('store a value; it is prompted for, or read from stdin, and never shown again')
    .option('--description <text>', 'description')
    .action(async (given: string | undefined, options: Common & { name?: string; description?: string }) => {
      const name = requireName(given, options.name, 'secrets create');
      const { readSecret } = await import('../terminal/terminal.ts');
      const value = await readSecret(pieces.terminal, `Value of ${name}`);
      const body = { name, value, description: options.description ?? null };
      await send(pieces, options, (client) => client.call('POST', '/v2/account/secrets', body));
    });
  addCommon(secrets.command('update'))
    .description('replace a value; it is prompted for, or read from stdin')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const secret = await findRecord(client, RECORDS.secrets, id);
      const { readSecret } = await import('../terminal/terminal.ts');
      const value = await readSecret(pieces.terminal, `New value of ${secret.name}`);
      await send(pieces, options, () => client.call('PATCH', `/v2/account/secrets/${secret.id}`, { value }));
    });
}

function addVolumes(program: Command, pieces: CliPieces): void {
  const volumes = program.command('volumes').description('manage network volumes');
  addRecordCommands(volumes, pieces, async () => (await records()).RECORDS.volumes);
  addCommon(addName(volumes.command('create')))
    .description('create a volume')
    .requiredOption('--size <gb>', 'size in GB; it can grow later', wholeNumber)
    .requiredOption('--data-center <id>', 'data center of the volume')
    .action(
      async (given: string | undefined, options: Common & { name?: string; size: number; dataCenter: string }) => {
        const name = requireName(given, options.name, 'volumes create');
        const body = { name, size: options.size, dataCenter: options.dataCenter };
        await send(pieces, options, (client) => client.call('POST', '/v2/network-volumes', body));
      },
    );
  addCommon(volumes.command('update'))
    .description('rename or enlarge a volume')
    .argument('<id>', 'id or name')
    .option('--name <text>', 'new name')
    .option('--size <gb>', 'new size in GB', wholeNumber)
    .action(async (id: string, { name, size, ...options }: Common & { name?: string; size?: number }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const volume = await findRecord(client, RECORDS.volumes, id);
      const body = present({ name, size });
      await send(pieces, options, () => client.call('PATCH', `/v2/network-volumes/${volume.id}`, body));
    });
}

function addRegistries(program: Command, pieces: CliPieces): void {
  const registries = program.command('registries').description('manage credentials for private images');
  addRecordCommands(registries, pieces, async () => (await records()).RECORDS.registries);
  addCommon(addName(registries.command('create')))
    .description('save credentials; the password is prompted for, or read from stdin')
    .requiredOption('--username <name>', 'user name at the registry')
    .action(async (given: string | undefined, options: Common & { name?: string; username: string }) => {
      const name = requireName(given, options.name, 'registries create');
      const { readSecret } = await import('../terminal/terminal.ts');
      const password = await readSecret(pieces.terminal, 'Password');
      const body = { name, username: options.username, password };
      await send(pieces, options, (client) => client.call('POST', '/v2/registries', body));
    });
}
