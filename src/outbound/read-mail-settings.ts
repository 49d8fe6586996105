import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { messageOf } from '../core/errors.ts';

/** The mail server, as the operator's file describes it (docs/guide/notices.md). */
export interface MailSettings {
  host: string;
  port: number;
  /** `STARTTLS`: never without it; `TLS`: from the first byte; `NONE`: in clear text, for a server on this machine or network. */
  security: 'STARTTLS' | 'TLS' | 'NONE';
  /** Null: it asks for no password. */
  login: { user: string; password: string } | null;
  /** The sender: an address, or `Name <address>`. */
  from: string;
  /** Certificates (PEM) that are trusted besides the usual ones; null: none. */
  ca: string | null;
  /** Domains to which any account may send notices; elsewhere, mail goes only to the installation's users. */
  anyRecipientIn: readonly string[];
}

type Given = Pick<MailSettings, 'host' | 'from'> &
  Partial<Pick<MailSettings, 'port' | 'security' | 'anyRecipientIn'>> & {
    user?: string;
    password?: string;
    passwordFile?: string;
    caFile?: string;
  };

const DEFAULT_PORT = { STARTTLS: 587, TLS: 465, NONE: 25 };
const text = { type: 'string', minLength: 1 };

const validate = new Ajv({ allErrors: true }).compile<Given>({
  type: 'object',
  required: ['host', 'from'],
  additionalProperties: false,
  properties: {
    host: text,
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    security: { enum: ['STARTTLS', 'TLS', 'NONE'] },
    from: { type: 'string', pattern: '^[^\\r\\n]*[^\\s<>@]+@[^\\s<>@]+>?$' },
    user: text,
    password: text,
    passwordFile: text,
    caFile: text,
    anyRecipientIn: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9.-]+$' } },
  },
});

/** Reads the operator's file. Throws an error with a line per problem, each with the file and the place in it. */
export async function readMailSettings(file: string): Promise<MailSettings> {
  const given = parseJson(await readText(file, `the mail file ${file}`), file);
  if (!validate(given)) {
    const problems = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '$'}: ${message} ${params.additionalProperty ?? ''}`,
    );
    throw new Error(problems.map((problem) => `the mail file ${file}: ${problem.trim()}`).join('\n'));
  }
  const { host, from, security = 'STARTTLS', user, caFile, anyRecipientIn = [] } = given;
  return {
    ...{ host, from, security, anyRecipientIn },
    port: given.port ?? DEFAULT_PORT[security],
    login: user === undefined ? null : { user, password: await readPassword(given, file) },
    ca:
      caFile === undefined ? null : await readText(resolve(dirname(file), caFile), `the mail file ${file}: ${caFile}`),
  };
}

async function readPassword({ password, passwordFile }: Given, file: string): Promise<string> {
  if ((password === undefined) === (passwordFile === undefined)) {
    throw new Error(`the mail file ${file}: with user, give either password or passwordFile`);
  }
  if (password !== undefined) return password;
  const path = resolve(dirname(file), passwordFile!);
  return (await readText(path, `the mail file ${file}: ${path}`)).trim();
}

async function readText(path: string, place: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new Error(`${place} cannot be read: ${cause.message}`, { cause });
  });
}

function parseJson(content: string, file: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new Error(`the mail file ${file} is not valid JSON: ${messageOf(cause)}`, { cause });
  }
}
