import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { sessionFiles } from '../faults/session-file.ts';
import { login } from '../login.ts';
import { send } from './raw-http.ts';
import { frame, RawSocket, TEXT } from './raw-socket.ts';
import type { Report } from './report.ts';
import { expect, openPage, type Stage } from './stage.ts';

/** A path that comes from a browser leads to Pi's session files, to the files of the page, or nowhere. */
export async function pathsOfSessions(report: Report, stage: Stage) {
	const { target } = stage;
	// There is a session, and so a folder of them.
	const { context, ui } = await openPage(stage);
	await ui.send('Hello.');
	await expect(ui.answers.last()).toHaveText('Yes.');
	await context.close();

	const folder = dirname(sessionFiles(target.folder)[0]!);
	const outside = join(target.home, 'outside');
	mkdirSync(outside);
	const write = (where: string, cwd = target.folder.cwd) => {
		const id = randomUUID();
		const timestamp = new Date().toISOString();
		const file = join(where, `${timestamp.replace(/[:.]/g, '-')}_${id}.jsonl`);
		const session = { type: 'session', version: 3, id, timestamp, cwd };
		const named = { type: 'session_info', id: '1', parentId: null, timestamp, name: `named ${id}` };
		writeFileSync(file, `${JSON.stringify(session)}\n${JSON.stringify(named)}\n`);
		return { id, file };
	};
	const right = write(folder);
	const secret = write(outside);
	symlinkSync(secret.file, join(folder, `link_${secret.id}.jsonl`));
	symlinkSync(outside, join(dirname(folder), '--link--'));

	const credentials = await login(target.holdfast.address());
	const greet = async (session: string) => {
		const socket = await RawSocket.open(target.port, credentials);
		socket.send(frame(TEXT, JSON.stringify({ type: 'hello', session })));
		await socket.answered((answers) => answers.length > 0);
		socket.end();
		return socket.answers[0] ?? 'gone';
	};
	report.begin('a session by a path');
	for (const id of [
		'../x',
		'..',
		'.',
		'/etc/passwd',
		`../../outside/${secret.id}`,
		'%2e%2e%2fx',
		'..\\x',
		'x\0',
		'-e',
		'',
		'x'.repeat(200),
	]) {
		report.line(`hello ${JSON.stringify(id).slice(0, 40)}`, 'bad_frame', await greet(id));
	}
	report.line('hello, an id that is none', 'refused', await greet('constructor'));
	report.line('hello, a file that is a link out of the folder', 'refused', await greet(secret.id));
	report.line('hello, a session that is there', 'welcome', await greet(right.id));
	report.line(
		'what was written beside it',
		'nothing',
		existsSync(join(target.home, 'x')) ? 'x' : 'nothing',
	);

	report.begin('a file by a path');
	const get = async (path: string) => {
		const { status, text } = await send(target.port, {
			line: `GET ${path} HTTP/1.1`,
			headers: [
				['Host', `127.0.0.1:${target.port}`],
				['Connection', 'close'],
			],
			body: '',
		});
		return `${status}${/root:|"version"|pi-coding-agent/.test(text) ? ', with a file in it' : ''}`;
	};
	report.line('GET /', '200', await get('/'));
	const up = '../'.repeat(12);
	const encoded = '%2e%2e%2f'.repeat(12);
	for (const path of [
		`/${up}etc/passwd`,
		`/assets/${up}etc/passwd`,
		`/${encoded}etc/passwd`,
		`/assets/..%5c..%5c..%5cpackage.json`,
		'/..%2fcurrent',
		'/../current',
		'//etc/passwd',
		'/%00',
		'/%',
		'/.git/config',
	]) {
		report.line(`GET ${path.slice(0, 40)}`, '404', await get(path));
	}
}
