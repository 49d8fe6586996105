const header = { type: 'string', pattern: '^[A-Za-z0-9-]{1,100}$' };
const text = { type: 'string', minLength: 1 };
const url = { type: 'string', pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:|/))' };
const groups = { type: 'array', items: text, minItems: 1 };

/** Members of the operator's file beside `providers`. */
export const OWN_MEMBERS = {
  localAccounts: { type: 'boolean' },
  proxy: {
    type: 'object',
    required: ['header'],
    additionalProperties: false,
    properties: {
      title: text,
      header,
      emailHeader: header,
      nameHeader: header,
      groupsHeader: header,
      assertion: {
        type: 'object',
        required: ['issuer', 'audience', 'keysUrl'],
        additionalProperties: false,
        properties: { issuer: text, audience: text, keysUrl: url },
      },
      adminGroups: groups,
      userGroups: groups,
      joinByEmail: { type: 'boolean' },
    },
  },
};
