import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { readPages } from '../../api/read-pages.ts';

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: () =>
    readPages(
      (query) => unwrap(api.GET('/v2/account/users', { params: { query } })),
      ({ users }) => users,
    ),
});
