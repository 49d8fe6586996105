import { ROLES, type Role } from '../config.ts';
import { Failure } from '../core/errors.ts';

const SERVED: Record<Role, string> = {
  api: 'the API, the console and the documentation',
  data: 'jobs, requests to endpoints and pods, and workers',
  control: 'nothing to clients: it starts and stops workers and pods',
};

/** What somebody is told who came to a process that does something else. */
export function missingRole(role: Role, roles: ReadonlySet<Role>): Failure {
  const served = ROLES.filter((one) => roles.has(one) && (one !== 'control' || roles.size === 1));
  const what = served.map((one) => `${SERVED[one]} (role ${one})`).join(', and ');
  return new Failure('misdirected', `This process has not the role ${role}. It serves ${what}.`);
}
