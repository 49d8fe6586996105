import { createRequire } from 'node:module';
import { S3Error } from './s3-error.ts';

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';
export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';

let loaded: ReturnType<typeof load> | undefined;

/** At the first document: most servers see none. */
function load() {
  const { XMLBuilder, XMLParser } = createRequire(import.meta.url)(
    'fast-xml-parser',
  ) as typeof import('fast-xml-parser');
  const parser = new XMLParser({
    ignoreAttributes: true,
    parseTagValue: false,
    trimValues: false,
    htmlEntities: true,
    removeNSPrefix: true,
    isArray: (name) => name === 'Object' || name === 'Part',
  });
  return {
    builder: new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', suppressEmptyNode: true }),
    parser,
  };
}

/** A value of an element: its text, its elements, or one for each item. Undefined: no element. */
type XmlValue = string | number | boolean | undefined | XmlElements | readonly XmlValue[];
export interface XmlElements {
  readonly [name: string]: XmlValue;
}

/** Returns a document without its head. Control characters, which XML has no text for, are written as S3 does. */
export function buildXml(name: string, elements: XmlElements): string {
  loaded ??= load();
  const text: string = loaded.builder.build({ [name]: { '@xmlns': NAMESPACE, ...elements } });
  return text.replace(/[\x00-\x1f]/g, (c) => `&#x${c.charCodeAt(0).toString(16).toUpperCase()};`);
}

/** Returns the elements of a request's document. Throws `MalformedXML` unless its root has this name. */
export function parseXml(text: string, root: string): Record<string, unknown> {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw malformedXml('has a DOCTYPE');
  let document: Record<string, unknown>;
  try {
    loaded ??= load();
    document = loaded.parser.parse(text, true) as Record<string, unknown>;
  } catch (cause) {
    throw malformedXml('is not valid XML', cause);
  }
  const found = document[root];
  if (typeof found !== 'object' || found === null) throw malformedXml(`is not a ${root} with elements`);
  return found as Record<string, unknown>;
}

export function malformedXml(why: string, cause?: unknown): S3Error {
  return new S3Error('MalformedXML', `The body ${why}.`, { cause });
}
