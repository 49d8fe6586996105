import { ROLES, type Role } from '../config/config.ts';
import { Failure } from '../core/errors.ts';

const SERVED: Record<Role, string> = {
  api: 'the API, the console and the documentation',
  data: 'jobs, requests to endpoints and pods, and workers',
  control: 'nothing to clients: it starts and stops workers and pods',
};

/** Returns the roles that are among `wanted`. */
export function pickRoles(roles: ReadonlySet<Role>, ...wanted: Role[]): ReadonlySet<Role> {
  return new Set(wanted.filter((role) => roles.has(role)));
}

/** A 421 for a request to a process without the role it needs. */
export function missingRole(role: Role, roles: ReadonlySet<Role>): Failure {
  const served = ROLES.filter((one) => roles.has(one) && (one !== 'control' || roles.size === 1));
  const what = served.map((one) => `${SERVED[one]} (role ${one})`).join(', and ');
  return new Failure('misdirected', `This process does not have the role ${role}. It serves ${what}.`);
}
