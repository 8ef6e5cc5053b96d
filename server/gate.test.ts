import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

const gate = new Gate('127.0.0.1', 4180);
const request = (headers: Record<string, string>, method = 'GET') =>
	({ method, headers }) as unknown as IncomingMessage;
const upgrade = (host: string, origin?: string) =>
	request({ host, upgrade: 'websocket', ...(origin === undefined ? {} : { origin }) });

test.each(['127.0.0.1:4180', 'localhost:4180', '[::1]:4180', 'localhost:9000', 'localhost'])(
	'the page is served to Host %s',
	(host) => {
		expect(gate.refuse(request({ host }))).toBeUndefined();
	},
);

test.each([
	'evil.test:4180',
	'127.0.0.1.evil.test:4180',
	'localhost.evil.test',
	'0.0.0.0:4180',
	'LOCALHOST:4180',
	'localhost.:4180',
	'localhost:4180:4180',
	'',
])('Host "%s" is refused with 421', (host) => {
	expect(gate.refuse(request({ host }))?.status).toBe(421);
});

test('a request without Host is refused', () => {
	expect(gate.refuse(request({}))?.status).toBe(421);
});

test('a socket is opened for our own page', () => {
	expect(gate.refuse(upgrade('127.0.0.1:4180', 'http://127.0.0.1:4180'))).toBeUndefined();
});

test.each([
	undefined,
	'null',
	'http://evil.test',
	'http://127.0.0.1:4181',
	'http://localhost:4180',
	'https://127.0.0.1:4180',
	'http://127.0.0.1:4180.evil.test',
	'http://127.0.0.1:4180/',
])('a socket for Origin %s is refused with 403', (origin) => {
	expect(gate.refuse(upgrade('127.0.0.1:4180', origin))?.status).toBe(403);
});

test('what would change something is refused from elsewhere', () => {
	const headers = { host: '127.0.0.1:4180', origin: 'http://evil.test' };
	expect(gate.refuse(request(headers, 'POST'))?.status).toBe(403);
});
