import type { IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { cookieName, Gate } from './gate.ts';
import { Logins } from './logins.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-gate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const logins = new Logins(folder);
const PUBLIC = 'https://holdfast.example';
const gate = new Gate(logins, [PUBLIC]);

const request = (headers: Record<string, string>, method = 'GET', url = '/') =>
	({
		...{ method, url, headers },
		rawHeaders: Object.entries(headers).flat(),
	}) as unknown as IncomingMessage;

/** An upgrade with all that a page sends that logged in at `home`. */
function upgrade(host: string, origin?: string, home = `http://${host}`, without = '') {
	const { cookie, key } = logins.trade(logins.ticket(), home)!;
	const headers: Record<string, string> = {
		...{ host, upgrade: 'websocket', cookie: `${cookieName(home)}=${cookie}` },
		'sec-websocket-protocol': `holdfast, key.${key}`,
		...(origin === undefined ? {} : { origin }),
	};
	return request(Object.fromEntries(Object.entries(headers).filter(([name]) => name !== without)));
}

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

const OURS = 'http://127.0.0.1:4180';

test.each(['cookie', 'sec-websocket-protocol'])('without %s no socket is opened', (without) => {
	expect(gate.refuse(upgrade('127.0.0.1:4180', OURS, OURS, without))?.status).toBe(401);
});

test('cookie and key of another origin open nothing here', () => {
	const elsewhere = upgrade('127.0.0.1:4180', OURS, 'http://127.0.0.1:4999');
	elsewhere.headers.cookie = elsewhere.headers.cookie!.replace('4999', '4180');
	expect(gate.refuse(elsewhere)?.status).toBe(401);
});

test('a cookie of our name that another port has set beside ours locks nobody out', () => {
	const shadowed = upgrade('127.0.0.1:4180', OURS);
	shadowed.headers.cookie = `holdfast_4180=x; ${shadowed.headers.cookie}; holdfast_4180=y`;
	expect(gate.refuse(shadowed)).toBeUndefined();
});

test('behind another name only with its own log-in, whether the name is passed on or not', () => {
	for (const host of ['holdfast.example', '127.0.0.1:4180']) {
		expect(gate.refuse(upgrade(host, PUBLIC, PUBLIC))).toBeUndefined();
	}
	expect(gate.refuse(upgrade('127.0.0.1:4180', PUBLIC, OURS))?.status).toBe(401);
	expect(gate.refuse(upgrade('holdfast.example.evil.test', PUBLIC, PUBLIC))?.status).toBe(421);
});

test('all of the API but the log-in itself needs one', () => {
	const headers = { host: '127.0.0.1:4180', origin: OURS };
	expect(gate.refuse(request(headers, 'POST', '/api/login'))).toBeUndefined();
	for (const url of ['/api/lock', '/api/login/', '/api/login?x', '/api/none']) {
		const allowed = url === '/api/login?x';
		expect(gate.refuse(request(headers, 'POST', url))?.status).toBe(allowed ? undefined : 401);
	}
	expect(gate.refuse(request(headers, 'GET', '/api/lock'))?.status).toBe(401);
});

test('two Host headers, and a path that is none, are refused', () => {
	const two = request({ host: '127.0.0.1:4180' });
	two.rawHeaders.push('HOST', 'evil.test');
	expect(gate.refuse(two)?.status).toBe(421);
	expect(gate.refuse(request({ host: 'localhost' }, 'GET', 'http://localhost/'))?.status).toBe(400);
});
