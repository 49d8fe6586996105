import type { Command } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import { addCommon, addRecordCommands, type Common, connect, records, send } from './command-shape.ts';
import { addContainerOptions, type ContainerOptions, containerBody, wholeNumber } from './fields.ts';

export function addOtherRecords(program: Command, pieces: CliPieces): void {
  addTemplates(program, pieces);
  addSecrets(program, pieces);
  addVolumes(program, pieces);
  addRegistries(program, pieces);
}

function addTemplates(program: Command, pieces: CliPieces): void {
  const templates = program.command('templates').description('container settings to make endpoints and pods from');
  addRecordCommands(templates, pieces, async () => (await records()).RECORDS.templates);
  addCommon(addContainerOptions(templates.command('create')))
    .description('make one')
    .option('--serverless', 'for endpoints; without it, for pods')
    .option('--public', 'others may use it')
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
    .description('keep a value; it is asked for, or read from stdin, and never shown again')
    .argument('<name>')
    .option('--description <text>', 'for people')
    .action(async (name: string, options: Common & { description?: string }) => {
      const { readSecret } = await import('./terminal.ts');
      const value = await readSecret(pieces.terminal, `Value of ${name}`);
      const body = { name, value, description: options.description ?? null };
      await send(pieces, options, (client) => client.call('POST', '/v2/account/secrets', body));
    });
  addCommon(secrets.command('update'))
    .description('replace a value; it is asked for, or read from stdin')
    .argument('<id>', 'its id, or its name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const secret = await findRecord(client, RECORDS.secrets, id);
      const { readSecret } = await import('./terminal.ts');
      const value = await readSecret(pieces.terminal, `New value of ${secret.name}`);
      await send(pieces, options, () => client.call('PATCH', `/v2/account/secrets/${secret.id}`, { value }));
    });
}

function addVolumes(program: Command, pieces: CliPieces): void {
  const volumes = program.command('volumes').description('network volumes');
  addRecordCommands(volumes, pieces, async () => (await records()).RECORDS.volumes);
  addCommon(volumes.command('create'))
    .description('make one')
    .argument('<name>')
    .requiredOption('--size <gb>', 'its size, which can grow', wholeNumber)
    .requiredOption('--data-center <id>', 'where it is')
    .action(async (name: string, options: Common & { size: number; dataCenter: string }) => {
      const body = { name, size: options.size, dataCenter: options.dataCenter };
      await send(pieces, options, (client) => client.call('POST', '/v2/network-volumes', body));
    });
  addCommon(volumes.command('update'))
    .description('rename one, or let it grow')
    .argument('<id>', 'its id, or its name')
    .option('--name <text>', 'its new name')
    .option('--size <gb>', 'its new size', wholeNumber)
    .action(async (id: string, { name, size, ...options }: Common & { name?: string; size?: number }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const volume = await findRecord(client, RECORDS.volumes, id);
      const body = JSON.parse(JSON.stringify({ name, size })) as object; // without what was not given
      await send(pieces, options, () => client.call('PATCH', `/v2/network-volumes/${volume.id}`, body));
    });
}

function addRegistries(program: Command, pieces: CliPieces): void {
  const registries = program.command('registries').description('credentials for private images');
  addRecordCommands(registries, pieces, async () => (await records()).RECORDS.registries);
  addCommon(registries.command('create'))
    .description('keep credentials; the password is asked for, or read from stdin')
    .argument('<name>')
    .requiredOption('--username <name>', 'the user of the registry')
    .action(async (name: string, options: Common & { username: string }) => {
      const { readSecret } = await import('./terminal.ts');
      const password = await readSecret(pieces.terminal, 'Password');
      const body = { name, username: options.username, password };
      await send(pieces, options, (client) => client.call('POST', '/v2/registries', body));
    });
}
