import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { messageOf } from '../core/errors.ts';
import { OWN_MEMBERS } from './local/own-members.ts';

/** An OpenID Connect provider, as the operator's file describes it (docs/guide/sign-in.md). */
export interface Provider {
  /** In URLs: lower-case letters, digits and hyphens. */
  name: string;
  /** On the button. */
  title: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string;
  /** Where name, e-mail and groups are in its claims. */
  claims: { name: string; email: string; groups: string };
  /** Members are admins, all others users; null: roles are given here. */
  adminGroups: readonly string[] | null;
  /** Only members sign in; null: everybody. */
  userGroups: readonly string[] | null;
  /** Who has a verified e-mail gets the user with that e-mail. */
  joinByEmail: boolean;
}

type Given = Pick<Provider, 'name' | 'issuer' | 'clientId'> &
  Partial<Omit<Provider, 'claims'>> & { clientSecretFile?: string; claims?: Partial<Provider['claims']> };

const text = { type: 'string', minLength: 1 };
const groups = { type: 'array', items: text, minItems: 1 };

const validate = new Ajv({ allErrors: true }).compile<{ providers?: Given[] }>({
  type: 'object',
  anyOf: [{ required: ['providers'] }, ...Object.keys(OWN_MEMBERS).map((name) => ({ required: [name] }))],
  additionalProperties: false,
  properties: {
    ...OWN_MEMBERS,
    providers: {
      type: 'array',
      maxItems: 20,
      items: {
        type: 'object',
        required: ['name', 'issuer', 'clientId'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,39}$' },
          title: text,
          issuer: text,
          clientId: text,
          clientSecret: text,
          clientSecretFile: text,
          scopes: text,
          claims: {
            type: 'object',
            additionalProperties: false,
            properties: { name: text, email: text, groups: text },
          },
          adminGroups: groups,
          userGroups: groups,
          joinByEmail: { type: 'boolean' },
        },
      },
    },
  },
});

/** Reads the operator's file. Throws an error with a line per problem, each with the file and the place in it. */
export async function readProviders(file: string): Promise<Provider[]> {
  const content = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new Error(`the sign-in file ${file} cannot be read: ${cause.message}`, { cause });
  });
  const given = parseJson(content, file);
  if (!validate(given)) {
    const problems = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '$'}: ${message} ${params.additionalProperty ?? ''}`,
    );
    throw new Error(problems.map((problem) => `the sign-in file ${file}: ${problem.trim()}`).join('\n'));
  }
  const { providers = [] } = given;
  const names = providers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`the sign-in file ${file}: two providers are named '${twice}'`);
  return Promise.all(providers.map((provider) => toProvider(provider, file)));
}

function parseJson(content: string, file: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new Error(`the sign-in file ${file} is not valid JSON: ${messageOf(cause)}`, { cause });
  }
}

/** Fills in what a provider inherits. Throws an error with the place of what is wrong. */
export async function toProvider(given: Given, file: string): Promise<Provider> {
  const { name, issuer, clientId, claims } = given;
  checkIssuer(issuer, `the sign-in file ${file}: ${name}: issuer`);
  return {
    name,
    title: given.title ?? name,
    issuer,
    clientId,
    clientSecret: await readSecret(given, file),
    scopes: given.scopes ?? 'openid profile email',
    claims: { name: 'preferred_username', email: 'email', groups: 'groups', ...claims },
    adminGroups: given.adminGroups ?? null,
    userGroups: given.userGroups ?? null,
    joinByEmail: given.joinByEmail ?? false,
  };
}

/** Plain http is for providers on this machine. */
function checkIssuer(issuer: string, place: string): void {
  const url = URL.parse(issuer);
  const isLocal = url?.hostname === 'localhost' || url?.hostname === '127.0.0.1' || url?.hostname === '[::1]';
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return;
  throw new Error(`${place}: '${issuer}' must be an https:// URL, or http:// on this machine`);
}

async function readSecret({ name, clientSecret, clientSecretFile }: Given, file: string): Promise<string> {
  if ((clientSecret === undefined) === (clientSecretFile === undefined)) {
    throw new Error(`the sign-in file ${file}: ${name}: give either clientSecret or clientSecretFile`);
  }
  if (clientSecret !== undefined) return clientSecret;
  const path = resolve(dirname(file), clientSecretFile!);
  const secret = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new Error(`the sign-in file ${file}: ${name}: ${path} cannot be read: ${cause.message}`, { cause });
  });
  return secret.trim();
}
