import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Logins } from './logins.ts';

const ORIGIN = 'http://127.0.0.1:4180';
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'holdfast-logins-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (name: string) => (statSync(join(folder, name)).mode & 0o777).toString(8);

test('secret and tickets are for their owner alone', () => {
	new Logins(folder).ticket();
	expect([mode('.'), mode('tickets'), mode('secret')]).toEqual(['700', '700', '600']);
	expect(mode(join('tickets', readdirSync(join(folder, 'tickets'))[0]!))).toBe('600');
});

test('a ticket is good once, whoever made it, and what it gives outlives a restart', () => {
	const ticket = new Logins(folder).ticket();
	const logins = new Logins(folder);
	const { cookie, key } = logins.trade(ticket, ORIGIN)!;
	expect(logins.trade(ticket, ORIGIN)).toBeUndefined();

	const later = new Logins(folder);
	expect(later.admits([cookie], key, ORIGIN)).toBe(true);
	expect(later.admits([cookie], key, 'http://127.0.0.1:4181')).toBe(false);
	expect(later.admits([cookie], undefined, ORIGIN)).toBe(false);
	expect(later.admits([], key, ORIGIN)).toBe(false);
	expect(later.admits([cookie.replace(/\.\d+\./, '.9999999999.')], key, ORIGIN)).toBe(false);
});

test('a ticket is good for ten minutes', () => {
	const logins = new Logins(folder);
	const [old, young] = [logins.ticket(), logins.ticket()];
	const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
	const files = readdirSync(join(folder, 'tickets')).map((name) => join(folder, 'tickets', name));
	for (const file of files) utimesSync(file, minutesAgo(11), minutesAgo(11));
	expect(logins.trade(old, ORIGIN)).toBeUndefined();

	utimesSync(
		files.find((file) => readdirSync(join(folder, 'tickets')).includes(file.split('/').at(-1)!))!,
		minutesAgo(9),
		minutesAgo(9),
	);
	expect(logins.trade(young, ORIGIN)).toBeDefined();
});

test('cookie and key of two log-ins do not go together', () => {
	const logins = new Logins(folder);
	const one = logins.trade(logins.ticket(), ORIGIN)!;
	const other = logins.trade(logins.ticket(), ORIGIN)!;
	expect(logins.admits([one.cookie], other.key, ORIGIN)).toBe(false);
	expect(logins.admits([other.cookie, one.cookie], one.key, ORIGIN)).toBe(true);
});

test('a browser that is logged in gets the same log-in for another ticket', () => {
	const logins = new Logins(folder);
	const one = logins.trade(logins.ticket(), ORIGIN)!;
	const again = logins.trade(logins.ticket(), ORIGIN, ['forged.9999999999.x', one.cookie])!;
	expect(again.key).toBe(one.key);
	expect(logins.admits([again.cookie], one.key, ORIGIN)).toBe(true);
	expect(logins.stale([one.cookie], ORIGIN)).toBe(false);
	expect(logins.stale(['forged.9999999999.x'], ORIGIN)).toBe(true);
});

test('locking ends log-ins and tickets, and says so to every proxy', async () => {
	const logins = new Logins(folder);
	const { cookie, key } = logins.trade(logins.ticket(), ORIGIN)!;
	const ticket = logins.ticket();
	const told = new Promise<void>((resolve) => logins.onlock(resolve));

	new Logins(folder).lock();
	await told;
	expect(logins.admits([cookie], key, ORIGIN)).toBe(false);
	expect(logins.trade(ticket, ORIGIN)).toBeUndefined();
	expect(mode('secret')).toBe('600');
});

test('a secret that others could have read is thrown away', () => {
	const logins = new Logins(folder);
	const { cookie, key } = logins.trade(logins.ticket(), ORIGIN)!;
	rmSync(join(folder, 'secret'));
	writeFileSync(join(folder, 'secret'), 'known to all', { mode: 0o644 });
	expect(new Logins(folder).admits([cookie], key, ORIGIN)).toBe(false);
	expect(mode('secret')).toBe('600');
});
