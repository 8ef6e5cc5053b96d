import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OWNER, StateFolder } from './state-folder.ts';

let home: string;
const env = () => ({ HOME: home });
beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'holdfast-state-'))));
afterEach(() => rmSync(home, { recursive: true }));

test('it is for its owner alone', () => {
	const state = new StateFolder(env());
	expect(state.path).toBe(join(home, '.local/state/holdfast'));
	expect(statSync(join(state.path, 'journal')).mode & 0o777).toBe(0o700);
	expect(statSync(join(state.path, 'owners', state.owner)).mode & 0o777).toBe(0o600);
});

test('a session is held by one proxy at a time', () => {
	const first = new StateFolder(env());
	const second = new StateFolder(env());
	first.lock('s');
	first.lock('s');
	expect(() => second.lock('s')).toThrow(`open in another Holdfast (process ${process.pid})`);
	first.unlock('s');
	second.lock('s');
});

test('the lock of a proxy that died is no lock, even when its pid was given again', () => {
	const state = new StateFolder(env());
	for (const holder of [
		JSON.stringify({ owner: 'dead', pid: 999_999_999, started: '1' }),
		JSON.stringify({ owner: 'reused', pid: process.ppid, started: 'long ago' }),
		'{"torn',
	]) {
		writeFileSync(join(state.path, 'locks', 's'), holder);
		state.lock('s');
		expect(readFileSync(join(state.path, 'locks', 's'), 'utf8')).toContain(state.owner);
		state.unlock('s');
	}
});

test('what a dead proxy left running is ended, and what a living one runs is not', async () => {
	const dead = new StateFolder(env());
	const left = spawn('sleep', ['300'], { env: { ...process.env, [OWNER]: dead.owner } });
	const ended = new Promise((resolve) => left.once('exit', (_code, signal) => resolve(signal)));
	const file = join(dead.path, 'owners', dead.owner);
	writeFileSync(
		file,
		JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), pid: 999_999_999 }),
	);

	const alive = new StateFolder(env());
	const running = spawn('sleep', ['300'], { env: { ...process.env, [OWNER]: alive.owner } });
	const next = new StateFolder(env());
	expect(await next.endLeftovers()).toEqual([{ pid: left.pid, command: 'sleep 300' }]);
	expect(await ended).toBe('SIGKILL');
	expect(running.exitCode).toBe(null);
	expect(running.signalCode).toBe(null);
	running.kill();
	expect(await new StateFolder(env()).endLeftovers()).toEqual([]);
});
