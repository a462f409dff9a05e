// Backups against those who would break them: hostile servers and clients, kills, full disks, damage.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/small_disk.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::test;
namespace fs = std::filesystem;

namespace {

/// Answers every request on loopback with what a function makes of its head, and closes.
class canned_server {
public:
  using answer = std::function<std::string(const std::string& head)>;

  explicit canned_server(answer how) : how_(std::move(how)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0
        || ::listen(listener_, 16) != 0
        || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      throw std::runtime_error("cannot listen");
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  canned_server(const canned_server&) = delete;
  canned_server& operator=(const canned_server&) = delete;
  ~canned_server() {
    ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] const std::string& url() const { return url_; }

private:
  void run() {
    while (!ending_) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0)
        continue;
      std::string head;
      char piece[4096];
      ssize_t got = 0;
      while (head.find("\r\n\r\n") == std::string::npos
             && (got = ::read(connection, piece, sizeof piece)) > 0)
        head.append(piece, static_cast<std::size_t>(got));
      const auto text = how_(head);
      std::string_view rest = text;
      while (!rest.empty() && !ending_) {
        const auto sent = ::send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent <= 0)
          break;
        rest.remove_prefix(static_cast<std::size_t>(sent));
      }
      ::close(connection);
    }
  }

  answer how_;
  int listener_ = -1;
  std::string url_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

std::string answer_with(int status, const std::string& body, const std::string& more = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nConnection: close\r\n" + more
         + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The SHA-256 of 100,000 times "x", of which the pretended log consists.
const std::string all_x(100'000, 'x');
const std::string hash_of_all_x =
  "d69e68988157833272305aaf21f453c800346e8a3640db6578e260215542e5d4";

std::string list_with(const std::string& name, const std::string& hash = hash_of_all_x) {
  auto file = json::object({{"name", name}, {"bytes", all_x.size()}, {"sha256", hash}});
  auto list = json::object({{"version", 1},
                            {"id", "../../../etc"},
                            {"time", "2026-01-31T17:05:09.042Z"},
                            {"log_epoch", 1},
                            {"position", 0}});
  list["files"] = json::array();
  list["files"].push_back(std::move(file));
  return dump_json(list);
}

std::string bytes_in(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void put_file(const fs::path& file, const std::string& text) {
  std::ofstream{file, std::ios::binary} << text;
}

std::vector<fs::path> everything_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::recursive_directory_iterator{directory, missing})
    if (entry.is_regular_file())
      found.push_back(entry.path());
  return found;
}

/// Fills the log with lines that lie beside the database, a file each.
void fill(scene& stage, int megabytes) {
  for (int i = 0; i < megabytes; ++i)
    stage.run("large", "HUGE 1000000\nECHO " + std::to_string(i));
}

pid_t start_command(const scene& stage, const std::string& arguments) {
  const auto text = command_text(stage, arguments) + " >/dev/null";
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string newest_list(const std::string& backups) {
  std::vector<std::string> lists;
  for (const auto& file : everything_in(backups + "/backups"))
    lists.push_back(file);
  std::ranges::sort(lists);
  return lists.empty() ? "" : lists.back();
}

} // namespace

SCENARIO(
  "a client takes no name, and no more bytes, than a backup may have, whatever the server says") {
  scene stage; // for the environment of the command
  const auto backups = stage.server.path("backups");
  std::string listed = list_with("CURRENT");
  std::string sent = answer_with(200, all_x);
  std::atomic<int> asked = 0;
  canned_server liar([&](const std::string& head) {
    if (head.starts_with("POST"))
      return answer_with(201, listed);
    if (head.starts_with("DELETE"))
      return answer_with(204, "");
    ++asked;
    return head.find("/../") == std::string::npos ? sent
                                                  : answer_with(400, "the id was not escaped");
  });
  const auto back_up = [&](const std::string& into) {
    return run_command(stage, "backup " + into + " --server " + liar.url());
  };
  GIVEN("an honest one") {
    INFO(back_up(backups).out);
    CHECK(everything_in(backups + "/backups").size() == 1);
    CHECK(bytes_in(backups + "/objects/" + hash_of_all_x) == all_x);
    CHECK(back_up(stage.server.path("b.tar.zst")).code == 0);
  }
  GIVEN("names that lead out") {
    for (const auto* name : {"../x", "/tmp/x", "a/../../x", ".bashrc", "tidemark.format", "a//b"}) {
      INFO(name);
      listed = list_with(name);
      for (const auto& into : {backups, stage.server.path("b.tar.zst")}) {
        const auto done = back_up(into);
        CHECK(done.code != 0);
        CHECK_THAT(done.out, Catch::Contains("is no backup"));
      }
    }
    CHECK(asked == 0);
    CHECK(everything_in(backups + "/backups").empty());
  }
  GIVEN("bytes that are others, fewer or more") {
    auto other = all_x;
    other[5] = 'y';
    for (const auto& body :
         {other, all_x.substr(1), all_x + "more", std::string(30'000'000, 'x')}) {
      INFO(body.size());
      sent = answer_with(200, body);
      for (const auto& into : {backups, stage.server.path("b.tar.zst")}) {
        const auto done = back_up(into);
        INFO(done.out);
        CHECK(done.code == 1);
      }
      CHECK(everything_in(backups + "/backups").empty());
      CHECK(everything_in(backups + "/objects").empty());
      CHECK_FALSE(fs::exists(stage.server.path("b.tar.zst")));
      CHECK_FALSE(fs::exists(stage.server.path("b.tar.zst.part")));
    }
  }
}

SCENARIO("a backup goes on where a connection breaks off, into a directory and into a file") {
  scene stage;
  std::atomic<int> asked = 0;
  canned_server breaking([&](const std::string& head) {
    if (head.starts_with("POST"))
      return answer_with(201, list_with("CURRENT"));
    if (head.starts_with("DELETE"))
      return answer_with(204, "");
    ++asked;
    const auto range = head.find("Range: bytes=");
    const auto from =
      range == std::string::npos ? 0 : std::strtoul(head.c_str() + range + 13, nullptr, 10);
    auto text = answer_with(from > 0 ? 206 : 200, all_x.substr(from));
    const auto body = text.find("\r\n\r\n") + 4;
    return text.substr(0, body + std::min<std::size_t>(30'000, text.size() - body));
  });
  for (const auto& into : {stage.server.path("backups"), stage.server.path("b.tar.zst")}) {
    asked = 0;
    const auto done = run_command(stage, "backup " + into + " --server " + breaking.url());
    INFO(done.out);
    CHECK(done.code == 0);
    CHECK(asked == 4);
  }
  CHECK(bytes_in(stage.server.path("backups/objects/" + hash_of_all_x)) == all_x);
  CHECK(run_command(stage, "backup --verify b.tar.zst").code == 0);
}

SCENARIO("odd ranges of a file of a copy are refused, and none of them harms the server") {
  scene stage;
  stage.run("demo", "ECHO hello");
  const auto made = stage.client.post("/api/v1/backup").parsed();
  const auto file = array_at(made, "files").front();
  const auto path =
    "/api/v1/backup/" + string_or(made, "id") + "/files/" + string_or(file, "sha256");
  const auto size = int_or(file, "bytes", 0);
  REQUIRE(size > 8);
  const auto status = [&](const std::string& range) {
    return stage.client.send({.path = path, .headers = {{"Range", range}}}).status;
  };
  CHECK(status("bytes=0-") == 200);
  CHECK(status("bytes=" + std::to_string(size - 1) + "-") == 206);
  for (const auto& range :
       {std::to_string(size), std::to_string(size + 1), std::string{"18446744073709551615"},
        std::string{"9223372036854775807"}})
    CHECK(status("bytes=" + range + "-") == 416);
  for (const auto* range : {"bytes=-5", "bytes=-", "bytes=", "bytes", "bytes=0-0", "bytes=5-2",
                            "bytes=0-1,4-", "bytes=0-,4-", "bytes=1-,", "bytes= 1-", "bytes=+1-",
                            "bytes=0x10-", "bytes=1--", "lines=1-", "bytes=18446744073709551616-",
                            "bytes=99999999999999999999999999-", "bytes=1e3-"}) {
    INFO(range);
    CHECK(status(range) == 400);
  }
  CHECK(stage.client.get(path).status == 200);
}

SCENARIO("the server keeps few copies at a time, and says so to who wants one more") {
  scene stage;
  stage.run("demo", "ECHO hello");
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(string_or(stage.client.post("/api/v1/backup").parsed(), "id"));
  CHECK(stage.client.post("/api/v1/backup").status == 409);
  const auto refused = run_command(stage, "backup " + stage.server.path("backups"));
  CHECK(refused.code == 5);
  CHECK_THAT(refused.out, Catch::Contains("4 backups are being fetched"));
  CHECK(stage.client.remove("/api/v1/backup/" + ids.front()).status == 204);
  CHECK(stage.client.remove("/api/v1/backup/" + ids.front()).status == 404);
  CHECK(stage.client.remove("/api/v1/backup/..%2F..").status == 404);
  CHECK(run_command(stage, "backup " + stage.server.path("backups")).code == 0);
  for (std::size_t i = 1; i < ids.size(); ++i)
    CHECK(stage.client.remove("/api/v1/backup/" + ids[i]).status == 204);
  CHECK(everything_in(stage.server.path("data/backup-staging")).empty());
}

SCENARIO("two backups at once into two places are both whole; into one place the second is told") {
  scene stage;
  fill(stage, 8);
  const auto a = start_command(stage, "backup " + stage.server.path("a"));
  const auto b = start_command(stage, "backup " + stage.server.path("b"));
  CHECK(end_of(a) == 0);
  CHECK(end_of(b) == 0);
  for (const auto* each : {"a", "b"}) {
    const auto checked = run_command(stage, std::string{"backup --verify "} + each);
    INFO(checked.out);
    CHECK(checked.code == 0);
  }
  const auto first = start_command(stage, "backup " + stage.server.path("same"));
  const auto second = run_command(stage, "backup " + stage.server.path("same"));
  INFO(second.out);
  CHECK((second.code == 0 || second.out.find("in use by process") != std::string::npos));
  const auto end_of_first = end_of(first);
  CHECK((end_of_first == 0 || second.code == 0));
  CHECK(run_command(stage, "backup --verify same").code == 0);
  CHECK(everything_in(stage.server.path("data/backup-staging")).empty());
}

SCENARIO("a backup whose client or server is killed half-way is taken up by the next run") {
  scene stage;
  fill(stage, 24);
  const auto backups = stage.server.path("backups");
  const auto archive = stage.server.path("log.tar.zst");
  const bool kills_server = GENERATE(false, true);
  const bool into_file = GENERATE(false, true);
  CAPTURE(kills_server, into_file);
  const auto& target = into_file ? archive : backups;
  const auto client = start_command(stage, "backup " + target);
  CHECK(poll_until([&] {
    std::error_code missing;
    return into_file ? fs::exists(archive + ".part", missing) || fs::exists(archive, missing)
                     : !everything_in(backups + "/objects").empty();
  }));
  if (kills_server) {
    stage.server.kill();
    end_of(client);
    stage.server.start();
    stage.reconnect();
  } else {
    ::kill(client, SIGKILL);
    end_of(client);
  }
  const auto again = run_command(stage, "backup " + target + (into_file ? " --overwrite" : ""));
  INFO(again.out);
  CHECK(again.code == 0);
  const auto checked = run_command(stage, "backup --verify " + target);
  INFO(checked.out);
  CHECK(checked.code == 0);
  CHECK_FALSE(fs::exists(archive + ".part"));
  CHECK(bool_or(stage.client.get(of("large", "verify")).parsed(), "ok", false));
}

SCENARIO("an object of another size is fetched again, and one that was altered is found") {
  scene stage;
  stage.run("demo", "HUGE 1000000");
  const auto backups = stage.server.path("backups");
  const auto first = run_command(stage, "backup " + backups);
  CHECK_THAT(first.out, Catch::Contains("Never verified"));
  const auto list = parse_json(bytes_in(newest_list(backups)));
  std::string object;
  for (const auto& file : array_at(*list, "files"))
    if (string_or(file, "name").starts_with("blobs/"))
      object = backups + "/objects/" + string_or(file, "sha256");
  REQUIRE(fs::exists(object));
  const auto good = bytes_in(object);
  put_file(object, good.substr(1));
  CHECK(run_command(stage, "backup " + backups).code == 0);
  CHECK(bytes_in(object) == good);
  CHECK(run_command(stage, "backup --verify " + backups).code == 0);

  auto bad = good;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  put_file(object, bad);
  const auto third = run_command(stage, "backup " + backups);
  CHECK_THAT(third.out, Catch::Contains("Last verified 20"));
  const auto checked = run_command(stage, "backup --verify " + backups);
  CHECK(checked.code == 1);
  CHECK_THAT(checked.out, Catch::Contains("DAMAGED"));
  fs::remove(object); // as it says
  CHECK(run_command(stage, "backup " + backups).code == 0);
  CHECK(run_command(stage, "backup --verify " + backups).code == 0);
}

SCENARIO("a disk that fills up ends a backup with its cause, and the next one goes on") {
  const small_disk disk(12);
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage;
  fill(stage, 3);
  const std::string backups = disk.path() / "backups";
  const auto ballast = disk.path() / "ballast";
  put_file(ballast, std::string(10'500'000, '.'));
  for (const auto& target : {backups, (disk.path() / "log.tar.zst").string()}) {
    const auto full = run_command(stage, "backup " + target);
    INFO(full.out);
    if (target == backups) {
      CHECK(full.code == 1);
      CHECK_THAT(full.out, Catch::Contains("No space left"));
      CHECK(newest_list(backups).empty());
    }
    CHECK(everything_in(stage.server.path("data/backup-staging")).empty());
  }
  fs::remove(ballast);
  CHECK(run_command(stage, "backup " + backups).code == 0);
  CHECK(run_command(stage, "backup --verify " + backups).code == 0);
}

SCENARIO("a checkpoint that was altered, or signed by another, proves nothing") {
  scene stage;
  stage.run("demo", "ECHO hello");
  const auto at = [&](const char* name) { return stage.server.path(name); };
  for (const auto* who : {"auditor", "other"})
    CHECK(
      run_command(stage, std::string{"checkpoint --new-key "} + who + ".pem > " + who + ".out").code
      == 0);
  for (const auto* who : {"auditor", "other"}) {
    const auto text = bytes_in(at((std::string{who} + ".out").c_str()));
    const auto begin = text.find("-----BEGIN");
    put_file(at((std::string{who} + "-public.pem").c_str()),
             text.substr(begin, text.find("-----END PUBLIC KEY-----") + 25 - begin));
  }
  REQUIRE(run_command(stage, "checkpoint --sign auditor.pem -o signed.json").code == 0);
  const auto once_more = run_command(stage, "checkpoint --sign auditor.pem -o signed.json");
  CHECK(once_more.code == 1);
  CHECK_THAT(once_more.out, Catch::Contains("--overwrite"));
  CHECK(run_command(stage, "checkpoint --sign auditor.pem -o signed.json --overwrite").code == 0);
  REQUIRE(run_command(stage, "checkpoint -o bare.json").code == 0);
  const auto verify = [&](const std::string& file, const std::string& key) {
    return run_command(stage, "verify --checkpoint " + file + " --public-key " + key);
  };
  CHECK(verify("signed.json", "auditor-public.pem").code == 0);
  CHECK(verify("signed.json", "other-public.pem").code == 1);
  CHECK(verify("bare.json", "auditor-public.pem").code == 1);
  CHECK(verify("signed.json", "auditor.pem").code != 0);
  const auto good = bytes_in(at("signed.json"));
  std::size_t refused = 0;
  constexpr std::size_t step = 11;
  for (std::size_t i = 0; i < good.size() - 1; i += step) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put_file(at("bad.json"), bad);
    INFO("byte " << i << " of " << good);
    const auto done = verify("bad.json", "auditor-public.pem");
    CHECK(done.code != 0);
    CHECK(done.out.find("nothing was altered") == std::string::npos);
    ++refused;
  }
  CHECK(refused > 10);
}
