import { Argument, type Command, Option } from 'commander';
import type { Flags } from '../../config/settings.ts';
import { TEMPLATE_SOURCES } from '../../domain/templates/template.ts';
import { type EnvOptions, envQuery, patchVariables, requireVariables } from '../fields/env-options.ts';
import { addFields, bodyOf, present } from '../fields/field.ts';
import { TEMPLATE_FIELDS } from '../fields/fields.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addRecordCommands,
  type Common,
  connect,
  onDatabase,
  onRecord,
  printNamed,
  records,
} from '../shared/command-shape.ts';
import { addDatabaseOptions, addName, requireName, wholeNumber } from '../shared/options.ts';
import { addVolumeFiles } from '../storage/volume-file-commands.ts';
import type { CATALOG, Listing } from './kinds.ts';

type NameOption = Common & { name?: string };

const readSecret = async (pieces: CliPieces, what: string) =>
  (await import('../terminal/terminal.ts')).readSecret(pieces.terminal, what);

export function addOtherRecords(program: Command, pieces: CliPieces): void {
  addTemplates(program, pieces);
  addVolumes(program, pieces);
  addRegistries(program, pieces);
}

function addTemplates(program: Command, pieces: CliPieces): void {
  const templates = program
    .command('templates')
    .description('manage templates: container settings for endpoints and pods');
  addRecordCommands(templates, pieces, 'templates');
  addCommon(
    addFields<Schemas['CreateTemplateRequest']>(addName(templates.command('create')), TEMPLATE_FIELDS, 'create'),
  )
    .description('create a template')
    .action(async (name: string | undefined, options: NameOption) => {
      const named = { ...options, name: requireName(name, options.name, 'templates create') };
      const given = bodyOf<Schemas['CreateTemplateRequest']>(TEMPLATE_FIELDS, named);
      const [{ resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const body = await resolveNames(client, given);
      printNamed(pieces, options, await client.call('post', '/v2/templates', { body }));
    });
  addCommon(addFields<Schemas['UpdateTemplateRequest']>(templates.command('update'), TEMPLATE_FIELDS, 'update'))
    .description('change the given settings only; what was made from it does not change')
    .argument('<id>', 'id or name')
    .action(async (name: string, options: EnvOptions & Common) => {
      const given = bodyOf<Schemas['UpdateTemplateRequest']>(TEMPLATE_FIELDS, options);
      envQuery(options); // refuses a malformed command line before anything is read
      const [{ findRecord, RECORDS, resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const before = await findRecord(client, RECORDS.templates, name);
      requireVariables(options, before);
      const body = await resolveNames(client, given);
      const patch = (change: Schemas['UpdateTemplateRequest'], query: object) =>
        client.call('patch', '/v2/templates/{id}', { path: { id: before.id }, query, body: change });
      printNamed(pieces, options, await patchVariables({ before, body, options }, patch, pieces));
    });
  addCommon(templates.command('public'))
    .description('list public templates: the installation’s own, verified ones, and those of other users')
    .addOption(new Option('--source <source...>', 'of these sources only').choices([...TEMPLATE_SOURCES]))
    .action(async (options: Common & { source?: string[] }) => {
      const [{ RECORDS, showRecords }, client] = await Promise.all([records(), connect(pieces, options)]);
      const query = present({ source: options.source?.join(',') });
      const none = 'There are none. To publish one of yours: `podyard templates update <template> --public`.';
      const found = (await client.call('get', '/v2/catalog/templates', { query })).templates;
      showRecords(found, { ...RECORDS.templates, none }, options.json, pieces);
    });
  addDatabaseOptions(templates.command('mark'))
    .description('say that a public template is official or verified, directly in the database')
    .argument('<id>', 'id or name')
    .addArgument(new Argument('<mark>', 'what the catalog says of it').choices(['official', 'verified', 'none']))
    .action(async (id: string, mark: string, options: Flags) => {
      const { printMarkedTemplate } = await import('../server/mark-template.ts');
      await onDatabase(pieces, options, (context) => printMarkedTemplate(context, id, mark, pieces));
    });
}

export function addSecrets(program: Command, pieces: CliPieces): void {
  const secrets = program.command('secrets').description('manage secrets and the master key that encrypts them');
  addDatabaseOptions(secrets.command('rotate-key'))
    .description("re-encrypt all secrets and passwords under a new master key while servers run; prints the key's id")
    .action(async (options: Flags) => {
      const { rotateKey } = await import('../storage/secrets.ts');
      await onDatabase(pieces, options, (context, more) =>
        rotateKey(context, pieces.masterKeySource(options, more), pieces),
      );
    });
  addRecordCommands(secrets, pieces, 'secrets');
  addCommon(addName(secrets.command('create')))
    .description('store a value; it is prompted for, or read from stdin, and never shown again')
    .option('--description <text>', 'description')
    .action(async (given: string | undefined, options: NameOption & { description?: string }) => {
      const name = requireName(given, options.name, 'secrets create');
      const value = await readSecret(pieces, `Value of ${name}`);
      const client = await connect(pieces, options);
      const body = { name, value, description: options.description ?? null };
      printNamed(pieces, options, await client.call('post', '/v2/account/secrets', { body }));
    });
  onRecord(secrets.command('update'), pieces, 'secrets', async (client, { id, name }, options) => {
    const value = await readSecret(pieces, `New value of ${name}`);
    printNamed(
      pieces,
      options,
      await client.call('patch', '/v2/account/secrets/{id}', { path: { id }, body: { value } }),
    );
  }).description('replace a value; it is prompted for, or read from stdin');
}

function addVolumes(program: Command, pieces: CliPieces): void {
  const volumes = program.command('volumes').description('manage network volumes and their files');
  addRecordCommands(volumes, pieces, 'volumes');
  addCommon(addName(volumes.command('create')))
    .description('create a volume')
    .requiredOption('--size <gb>', 'size in GB; it can grow later', wholeNumber)
    .requiredOption('--data-center <id>', 'data center of the volume')
    .action(async (given: string | undefined, options: NameOption & { size: number; dataCenter: string }) => {
      const name = requireName(given, options.name, 'volumes create');
      const body = { name, size: options.size, dataCenter: options.dataCenter };
      const client = await connect(pieces, options);
      printNamed(pieces, options, await client.call('post', '/v2/network-volumes', { body }));
    });
  onRecord<{ name?: string; size?: number }, 'volumes'>(
    volumes.command('update'),
    pieces,
    'volumes',
    async (client, { id }, { name, size, ...options }) => {
      const body = present({ name, size });
      printNamed(pieces, options, await client.call('patch', '/v2/network-volumes/{id}', { path: { id }, body }));
    },
  )
    .description('rename or enlarge a volume')
    .option('--name <text>', 'new name')
    .option('--size <gb>', 'new size in GB', wholeNumber);
  addVolumeFiles(volumes, pieces);
}

function addRegistries(program: Command, pieces: CliPieces): void {
  const registries = program.command('registries').description('manage credentials for private images');
  addRecordCommands(registries, pieces, 'registries');
  addCommon(addName(registries.command('create')))
    .description('save credentials; the password is prompted for, or read from stdin')
    .requiredOption('--username <name>', 'user name at the registry')
    .action(async (given: string | undefined, options: NameOption & { username: string }) => {
      const name = requireName(given, options.name, 'registries create');
      const password = await readSecret(pieces, 'Password');
      const client = await connect(pieces, options);
      const body = { name, username: options.username, password };
      printNamed(pieces, options, await client.call('post', '/v2/registries', { body }));
    });
}

export function addCatalog(program: Command, pieces: CliPieces): void {
  const catalog = program.command('catalog').description('GPU types, CPU flavors and data centers, with what is free');
  addListing(catalog.command('gpus'), pieces, 'gpus').description('list the GPUs');
  addListing(catalog.command('cpus'), pieces, 'cpus').description('list the CPUs');
  addListing(catalog.command('datacenters'), pieces, 'datacenters').description('list the data centers');
}

function addListing(command: Command, pieces: CliPieces, name: keyof typeof CATALOG): Command {
  return addCommon(command).action(async (options: Common) => {
    const { CATALOG: catalog, showRecords } = await records();
    const listing = catalog[name] as Listing<object>;
    showRecords(await listing.rows(await connect(pieces, options)), listing, options.json, pieces);
  });
}
