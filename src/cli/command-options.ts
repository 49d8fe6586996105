import { type Command, InvalidArgumentError } from 'commander';
import { helpOf, listSettings, longFlag, type SettingTable } from '../config/setting.ts';
import { DATABASE_SETTINGS, SETTINGS } from '../config/settings.ts';

const ENVIRONMENT = `
Every option can also be set by a variable, such as PODYARD_PORT or PODYARD_DATA_DIR; an option wins over its variable.
DATABASE_URL is read as well. PODYARD_ADMIN_KEY sets the first user's key; without it, one is generated and shown once.`;

/** Adds what names an installation's data. */
export function addDatabaseOptions(command: Command): Command {
  return addSettings(command, DATABASE_SETTINGS);
}

/** Adds every setting of a server that has a flag. */
export function addServerOptions(command: Command): Command {
  return addSettings(command, SETTINGS).addHelpText('after', ENVIRONMENT);
}

function addSettings(command: Command, table: SettingTable): Command {
  for (const setting of listSettings(table)) {
    const flag = longFlag(setting);
    if (flag !== null) command.option(setting.takes ? `${flag} ${setting.takes}` : flag, helpOf(setting));
  }
  return command;
}

export function parseCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be a time like 2030-01-31T12:00:00Z.');
  return time;
}
