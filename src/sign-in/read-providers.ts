import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { messageOf } from '../core/errors.ts';
import { TEAM_ROLES, type TeamRole } from '../domain/access/team-roles.ts';
import { OWN_MEMBERS } from './local/own-members.ts';

const GITHUB = 'https://github.com';
/** Its tokens name the user's own tenant, so that the issuer could be any company. */
const EVERY_TENANT = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers|\{.*)(\/|$)/i;

/** An identity provider, as the operator's file describes it (docs/guide/sign-in.md). */
export interface Provider {
  /** Its protocol: OpenID Connect, or GitHub's OAuth. */
  type: 'oidc' | 'github';
  /** In URLs: lower-case letters, digits and hyphens. */
  name: string;
  /** On the button. */
  title: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string;
  /** Where name, email and groups are in its claims. */
  claims: { name: string; email: string; groups: string };
  /** Members have these roles, the first that fits; all others are users. All null: roles are given here. */
  adminGroups: readonly string[] | null;
  auditorGroups: readonly string[] | null;
  billingGroups: readonly string[] | null;
  /** Members of a group are members of a team. */
  teams: readonly GroupTeam[];
  /** Only members sign in; null: everybody. */
  userGroups: readonly string[] | null;
  /** An identity with a verified email joins the user with that email. */
  joinByEmail: boolean;
}

/** Members of `group` have `role` in the team of this name. */
interface GroupTeam {
  group: string;
  team: string;
  role: TeamRole;
}

type Given = Pick<Provider, 'name' | 'clientId'> &
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
        required: ['name', 'clientId'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,39}$' },
          title: text,
          type: { enum: ['oidc', 'github'] },
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
          auditorGroups: groups,
          billingGroups: groups,
          teams: {
            type: 'array',
            minItems: 1,
            items: {
              type: 'object',
              required: ['group', 'team', 'role'],
              additionalProperties: false,
              properties: { group: text, team: text, role: { enum: TEAM_ROLES } },
            },
          },
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
  const { name, clientId, claims, type = 'oidc' } = given;
  const place = `the sign-in file ${file}: ${name}`;
  const issuer = given.issuer ?? (type === 'github' ? GITHUB : undefined);
  if (issuer === undefined) throw new Error(`${place}: give its issuer`);
  checkIssuer(issuer, `${place}: issuer`);
  if (type === 'github' && given.userGroups === undefined) {
    throw new Error(`${place}: anybody can have an account at GitHub: name your organizations in userGroups`);
  }
  return {
    ...{ type, name, issuer, clientId },
    title: given.title ?? name,
    clientSecret: await readSecret(given, file),
    scopes: given.scopes ?? (type === 'github' ? 'read:user user:email read:org' : 'openid profile email'),
    claims: { name: 'preferred_username', email: 'email', groups: 'groups', ...claims },
    adminGroups: given.adminGroups ?? null,
    auditorGroups: given.auditorGroups ?? null,
    billingGroups: given.billingGroups ?? null,
    teams: given.teams ?? [],
    userGroups: given.userGroups ?? null,
    joinByEmail: given.joinByEmail ?? false,
  };
}

/** Plain http is for providers on this machine. */
function checkIssuer(issuer: string, place: string): void {
  if (EVERY_TENANT.test(issuer)) {
    const yours = 'https://login.microsoftonline.com/<tenant id>/v2.0';
    throw new Error(`${place}: '${issuer}' is of every company at Entra: name your tenant, ${yours}`);
  }
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
