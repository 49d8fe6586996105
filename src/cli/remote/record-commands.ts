import type { Command } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import { addCommon, addRecordCommands, type Common, connect, records, send } from './command-shape.ts';
import { addContainerOptions, type ContainerOptions, containerBody, present, wholeNumber } from './fields.ts';

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
  addCommon(addContainerOptions(templates.command('create')))
    .description('create a template')
    .option('--serverless', 'a template for endpoints (default: for pods)')
    .option('--public', 'let other users use it')
    .action(async (options: ContainerOptions & Common & { serverless?: boolean; public?: boolean }) => {
      const { serverless = false, public: isPublic = false } = options;
      const body = { ...containerBody(options), serverless, public: isPublic };
      await send(pieces, options, (client) => client.call('POST', '/v2/templates', body));
    });
}

function addSecrets(program: Command, pieces: CliPieces): void {
  const secrets = program.commands.find((command) => command.name() === 'secrets')!;
  addRecordCommands(secrets, pieces, async () => (await records()).RECORDS.secrets);
  addCommon(secrets.command('create'))
    .description('store a value; it is prompted for, or read from stdin, and never shown again')
    .argument('<name>')
    .option('--description <text>', 'description')
    .action(async (name: string, options: Common & { description?: string }) => {
      const { readSecret } = await import('./terminal.ts');
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
      const { readSecret } = await import('./terminal.ts');
      const value = await readSecret(pieces.terminal, `New value of ${secret.name}`);
      await send(pieces, options, () => client.call('PATCH', `/v2/account/secrets/${secret.id}`, { value }));
    });
}

function addVolumes(program: Command, pieces: CliPieces): void {
  const volumes = program.command('volumes').description('manage network volumes');
  addRecordCommands(volumes, pieces, async () => (await records()).RECORDS.volumes);
  addCommon(volumes.command('create'))
    .description('create a volume')
    .argument('<name>')
    .requiredOption('--size <gb>', 'size in GB; it can grow later', wholeNumber)
    .requiredOption('--data-center <id>', 'data center of the volume')
    .action(async (name: string, options: Common & { size: number; dataCenter: string }) => {
      const body = { name, size: options.size, dataCenter: options.dataCenter };
      await send(pieces, options, (client) => client.call('POST', '/v2/network-volumes', body));
    });
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
  addCommon(registries.command('create'))
    .description('save credentials; the password is prompted for, or read from stdin')
    .argument('<name>')
    .requiredOption('--username <name>', 'user name at the registry')
    .action(async (name: string, options: Common & { username: string }) => {
      const { readSecret } = await import('./terminal.ts');
      const password = await readSecret(pieces.terminal, 'Password');
      const body = { name, username: options.username, password };
      await send(pieces, options, (client) => client.call('POST', '/v2/registries', body));
    });
}
