import * as models from '@kubernetes/client-node';
import type { Manifest } from './chart.ts';

interface Model {
  getAttributeTypeMap(): { name: string; baseName: string; type: string; format: string }[];
}

/**
 * Returns what is wrong with an object by Kubernetes' own description, which the official client contains as the fields of each
 * kind: unknown fields and values of the wrong type. It does not find missing required fields; the API server does.
 */
export function misfits(manifest: Manifest): string[] {
  const [group, version] = manifest.apiVersion.includes('/')
    ? manifest.apiVersion.split('/')
    : ['', manifest.apiVersion];
  const name = `${version![0]!.toUpperCase()}${version!.slice(1)}${manifest.kind}`;
  const model = modelOf(name);
  if (!model) return [`${manifest.apiVersion} ${manifest.kind} is not known${group ? '' : ' to the core group'}`];
  return ofObject(manifest, model, manifest.kind);
}

function modelOf(name: string): Model | undefined {
  return (models as unknown as Record<string, Model | undefined>)[name];
}

function ofObject(value: unknown, model: Model, path: string): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} must be an object`];
  const members = new Map(model.getAttributeTypeMap().map((member) => [member.baseName, member]));
  return Object.entries(value).flatMap(([name, inner]) => {
    const member = members.get(name);
    return member ? ofType(inner, member.type, `${path}.${name}`) : [`${path}.${name} is not a member`];
  });
}

function ofType(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.+)>$/.exec(type)?.[1];
  if (list) {
    if (!Array.isArray(value)) return [`${path} must be a list`];
    return value.flatMap((item, i) => ofType(item, list, `${path}[${i}]`));
  }
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (map) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} must be a map`];
    return Object.entries(value).flatMap(([name, inner]) => ofType(inner, map, `${path}.${name}`));
  }
  if (type === 'any') return [];
  if (type === 'IntOrString') return isOneOf(value, ['string', 'number'], path);
  if (['string', 'number', 'boolean'].includes(type)) return isOneOf(value, [type], path);
  const model = modelOf(type);
  return model ? ofObject(value, model, path) : [`${path}: the type ${type} is not known`];
}

function isOneOf(value: unknown, types: readonly string[], path: string): string[] {
  return types.includes(typeof value)
    ? []
    : [`${path} must be a ${types.join(' or a ')}, not ${JSON.stringify(value)}`];
}
