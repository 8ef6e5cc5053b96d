import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { login } from '../e2e/login.ts';
import { scripted } from './bridge/real-pi.ts';
import type { Command, ServerMessage } from './protocol.ts';

const MAIN = new URL('./main.ts', import.meta.url).pathname;

/** Runs `npm start` as a person does. */
async function npmStart(env: NodeJS.ProcessEnv, ...flags: string[]) {
	const npm = spawn('npm', ['start', '--', '--port', '0', '--no-open', ...flags], {
		env,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let stdout = '';
	let stderr = '';
	npm.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
	const exited = new Promise<number | null>((resolve) => npm.once('exit', resolve));
	const ready = new Promise<string>((resolve, reject) => {
		npm.stdout.on('data', (chunk: Buffer) => {
			stdout += chunk.toString();
			const url = /^Holdfast is ready: (\S+)$/m.exec(stdout)?.[1];
			if (url) resolve(url);
		});
		void exited.then(() => reject(new Error(stderr)));
	});
	ready.catch(() => {});
	return { npm, ready, exited, stdout: () => stdout, stderr: () => stderr };
}

/** A browser, as far as the wire is concerned. */
async function connect(url: string) {
	const { origin, protocols, headers } = await login(url);
	const socket = new WebSocket(origin.replace('http', 'ws'), protocols, { headers });
	const messages: ServerMessage[] = [];
	const watchers = new Set<() => void>();
	socket.on('message', (data: Buffer) => {
		messages.push(JSON.parse(data.toString()) as ServerMessage);
		for (const watcher of watchers) watcher();
	});
	await new Promise((resolve) => socket.once('open', resolve));
	const until = <T extends ServerMessage>(test: (message: ServerMessage) => message is T) =>
		new Promise<T>((resolve) => {
			const watcher = () => {
				const found = messages.find(test);
				if (found) resolve(found);
			};
			watchers.add(watcher);
			watcher();
		});
	const closed = new Promise((resolve) => socket.once('close', resolve));
	return { send: (message: object) => socket.send(JSON.stringify(message)), until, closed, socket };
}

const processesWith = (text: string) =>
	readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text);
			} catch {
				// Ended since it was listed.
				return false;
			}
		});

const isWelcome = (
	message: ServerMessage,
): message is Extract<ServerMessage, { type: 'welcome' }> => message.type === 'welcome';

test('`npm start` prints one line with the URL, and SIGTERM ends all that it started, in mid-command', async () => {
	const folder = await scripted(() => [
		{ toolCall: { name: 'bash', arguments: { command: 'echo begun; sleep 300' } } },
	]);
	// The agent folder is new, so its name marks every process of this test.
	const mark = `PI_CODING_AGENT_DIR=${folder.agentDir}`;
	const { npm, ready, exited, stdout } = await npmStart(folder.env, '--cwd', folder.cwd);
	const url = await ready;
	expect(stdout().match(/^Holdfast is ready: /gm)).toHaveLength(1);

	const browser = await connect(url);
	browser.send({ type: 'hello', session: 'new' });
	const { session } = await browser.until(isWelcome);
	const command: Command = { type: 'prompt', text: 'Run it.', images: [], when: 'steer' };
	browser.send({ type: 'command', id: '1', session, command });
	await browser.until(
		(message): message is ServerMessage =>
			message.type === 'events' &&
			message.events.some(
				({ event }) => event.type === 'tool_update' && event.text.includes('begun'),
			),
	);
	expect(processesWith(mark).length).toBeGreaterThanOrEqual(5);

	npm.kill('SIGTERM');
	await Promise.all([exited, browser.closed]);
	await expect.poll(() => processesWith(mark), { timeout: 6_000 }).toEqual([]);
	await folder.remove();
});

test.each([
	[['--port', 'many'], '--port takes a number from 0 to 65535, not "many"'],
	[['--cwd', '/no/such/folder'], 'The folder /no/such/folder does not exist'],
	[['--session', '../x'], '--session takes the id of a session of Pi'],
	[['--wrong'], "Unknown option '--wrong'"],
	[['--pi', ''], '--pi needs a command'],
])('a wrong flag says what is wrong: %s', (flags, message) => {
	const { status, stderr } = spawnSync(process.execPath, [MAIN, '--no-open', ...flags], {
		encoding: 'utf8',
	});
	expect(status).toBe(1);
	expect(stderr).toContain(message);
});

test('a frame that is not of the protocol is answered, and disturbs nobody', async () => {
	const folder = await scripted(() => [{ text: 'Hello.' }]);
	const { npm, ready, exited } = await npmStart(folder.env, '--cwd', folder.cwd);
	const browser = await connect(await ready);
	browser.send({ type: 'hello', session: 5 });
	const isBad = (
		message: ServerMessage,
	): message is Extract<ServerMessage, { type: 'bad_frame' }> => message.type === 'bad_frame';
	expect((await browser.until(isBad)).error).toMatch(/^session: /);

	browser.send({ type: 'hello', session: 'new' });
	expect((await browser.until(isWelcome)).conversation.activity).toEqual({ kind: 'idle' });
	npm.kill('SIGTERM');
	await exited;
	await folder.remove();
});

test('the bridge is exported as `holdfast/agent`, for programs without a browser', () => {
	const script = "import('holdfast/agent').then((agent) => console.log(Object.keys(agent).join()))";
	const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
	expect(stdout.trim()).toBe('Agent,PiError,createAgent');
});
