/** A Pi that is missing, refuses, ends or says nothing: each is an error that says what to do. */
import { expect, test } from 'vitest';
import { createAgent, PiError } from './agent.ts';
import type { AgentOptions } from './agent.ts';
import type { PiCommand } from './pi.ts';
import { call, longTime, processes, realPi } from './real-pi.ts';

/** A stand-in for what a real Pi cannot be made to do: a Node script in its place. */
const fakePi = (script: string): PiCommand => ({
	command: process.execPath,
	args: ['-e', script, '--'],
});

/** The message of the error with which an agent with such a Pi does not start. */
async function failure(pi: PiCommand, options: AgentOptions = {}) {
	const error = await createAgent({ pi, ...options }).then(
		() => expect.fail('it started'),
		(error: unknown) => error,
	);
	expect(error).toBeInstanceOf(PiError);
	return (error as PiError).message;
}

test.concurrent('a folder that does not exist', async () => {
	await expect(createAgent({ cwd: '/no/such/folder' })).rejects.toThrow(
		'The folder /no/such/folder does not exist.',
	);
});

test.concurrent('a command that does not exist', async () => {
	const message = await failure({ command: '/no/such/pi', args: [] });

	expect(message).toContain('Pi could not be started: spawn /no/such/pi ENOENT.');
	expect(message).toContain('Check that the command given with --pi exists');
});

test.concurrent('a command that ends at once', async () => {
	const message = await failure(fakePi(`console.error('no key'); process.exitCode = 1`));

	expect(message).toContain('Pi ended with exit code 1.');
	expect(message).toContain('in a terminal');
	expect(message).toContain('Its last words:\nno key');
});

test.concurrent('a command that ends at once and leaves a child that holds its pipes', async () => {
	const long = longTime();
	const script = `setsid sleep ${long} & echo gone >&2; exit 1`;

	const message = await failure({ command: 'bash', args: ['-c', script] });

	expect(message).toContain('Its last words:\ngone');
	for (const pid of processes('sleep', long)) process.kill(Number(pid));
});

test.concurrent('a Pi for which this Node is too old', async () => {
	const message = await failure(
		fakePi(`console.error('pi requires Node.js >=22.19.0'); process.exitCode = 1`),
	);

	expect(message).toContain('newer Node (22.19 or later)');
});

test.concurrent(
	'a command that never answers, and that holds its pipes when it is ended',
	async () => {
		// The shell waits for a child, which inherits its stdout.
		const long = longTime();
		const pi = { command: 'bash', args: ['-c', `echo waiting >&2; sleep ${long}; true`] };

		const message = await failure(pi, { startTimeoutMs: 3_000 });

		expect(message).toContain('Pi did not answer within 3 s of its start.');
		expect(message).toContain('Does the command given with --pi run Pi');
		expect(message).toContain('Its last words:\nwaiting');
		expect(processes('sleep', long)).toEqual([]);
	},
);

test.concurrent('a command that prints something else than records', async () => {
	const message = await failure(
		fakePi(`console.log('Welcome to this host!'); setInterval(() => {}, 1000)`),
		{ startTimeoutMs: 500 },
	);

	expect(message).toContain('Pi did not answer');
	expect(message).toContain('(stdout) Welcome to this host!');
});

const ANSWERING = (answer: string) => `
	process.stdin.on('data', (line) => {
		const { id, type } = JSON.parse(line);
		console.log(JSON.stringify({ id, type: 'response', command: type, ${answer} }));
	});
	console.error('starting');
`;

test.concurrent('a Pi that answers, but has not loaded the extension', async () => {
	const message = await failure(
		fakePi(ANSWERING(`success: true, data: { sessionId: 's', thinkingLevel: 'off' }`)),
	);

	expect(message).toContain('Holdfast needs Pi 1.6 or later');
	expect(message).toContain('Its last words:\nstarting');
});

test.concurrent('a Pi that refuses to tell its state', async () => {
	const message = await failure(
		fakePi(ANSWERING(`success: false, error: 'Unknown command: get_state'`)),
	);

	expect(message).toContain('Unknown command: get_state');
	expect(message).toContain('Holdfast needs Pi 1.6 or later');
	expect(message).toContain('Its last words:\nstarting');
});

test.concurrent(
	'a Pi that is killed in mid-run: the stream throws, and so does all that follows',
	async () => {
		const long = longTime();
		await using pi = await realPi(() => [...call('bash', { command: `sleep ${long}` })]);
		const all = pi.agent.events();
		const running = pi.run('Go.');
		await pi.until('tool_start');

		process.kill(pi.agent.pid!, 'SIGKILL');

		await expect(running).rejects.toThrow(PiError);
		await expect(running).rejects.toThrow('Pi was ended by SIGKILL.');
		expect(await pi.agent.exited).toMatchObject({ code: null, signal: 'SIGKILL' });
		expect(pi.events.at(-1)).toEqual({ type: 'exit', description: 'Pi was ended by SIGKILL.' });
		await expect(pi.run('Again.')).rejects.toThrow('Pi was ended by SIGKILL.');
		await expect(pi.agent.state()).rejects.toThrow('Pi was ended by SIGKILL.');
		let last;
		for await (const event of all) last = event;
		expect(last).toMatchObject({ type: 'exit' });
		// Pi is gone, and cannot end its command; we need not leave it to the machine.
		for (const pid of processes(long)) process.kill(Number(pid));
	},
);

test.concurrent('close ends Pi and the command it runs', async () => {
	const long = longTime();
	await using pi = await realPi(() => [...call('bash', { command: `echo begun; sleep ${long}` })]);
	void pi.run('Go.').catch(() => {});
	await pi.until('tool_update', ({ text }) => text.includes('begun'));

	const { code, signal } = await pi.agent.close();

	expect({ code, signal }).toEqual({ code: 0, signal: null });
	expect(processes(long)).toEqual([]);
});
