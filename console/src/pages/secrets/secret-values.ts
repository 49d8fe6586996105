import type { Schemas } from '../../api/client.ts';
import type { Change } from '../../ui/forms/changes.ts';
import { enumLabel } from '../../ui/text/labels.ts';

type Secret = Schemas['Secret'];

export interface SecretValues {
  value: string;
  description: string;
}

/** Returns the placeholder that a secret's value replaces in an environment variable. */
export function secretReference(name: string): string {
  return `{{ RUNPOD_SECRET_${name} }}`;
}

export function newSecretBody(values: SecretValues & { name: string }): Schemas['CreateSecretRequest'] {
  return { ...values, description: orNull(values.description) };
}

/** Returns the body of an update; an empty value keeps the current one. */
export function secretUpdateBody({ value, description }: SecretValues): Schemas['UpdateSecretRequest'] {
  return { description: orNull(description), ...(value === '' ? {} : { value }) };
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}

/** `Endpoint greeter`. */
export function usageLabel({ kind, name }: Secret['usedBy'][number]): string {
  return `${enumLabel(kind)} ${name}`;
}

/** Says what deleting a secret breaks. */
export function deletionConsequence(usedBy: Secret['usedBy']): string {
  if (usedBy.length === 0) return "Nothing uses this secret. You can't undo this.";
  const users = usedBy.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return `In use by ${users}. Containers that reference it will fail to start. You can't undo this.`;
}

/** Returns what an edit changes; never the value. */
export function secretChanges(
  before: Pick<SecretValues, 'description'>,
  { value, description }: SecretValues,
): Change[] {
  const changes: Change[] = value === '' ? [] : [{ label: 'Value', before: 'the current one', after: 'another one' }];
  if (description !== before.description)
    changes.push({ label: 'Description', before: before.description || 'none', after: description || 'none' });
  return changes;
}
