import { queryOptions } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import type { User } from './user-values.ts';

/** All users, from as many pages as there are. */
export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async () => {
    const users: User[] = [];
    let after: string | null = null;
    do {
      const page: Schemas['UserAccountList'] = await unwrap(
        api.GET('/v2/account/users', { params: { query: after === null ? {} : { after } } }),
      );
      users.push(...page.users);
      after = page.next;
    } while (after !== null);
    return users;
  },
});
